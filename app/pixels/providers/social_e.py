"""Quora pixels: their identifiers, their script and their hosts."""

from __future__ import annotations

from app.i18n.messages import gettext_noop as _noop
from app.pixels.provider import Provider

PROVIDER = Provider(
    label="Quora",
    words=("quora",),
    example="0123456789abcdef0123456789abcdef",
    looks_like=r"[0-9a-f]{32}",
    hint=_noop("%(label)s: pixel id, 32 digits and letters a to f."),
    mismatch=_noop(
        "This does not look like a pixel id of %(label)s: 32 digits and letters a to f, like %(example)s."
    ),
    help_url="https://quoraadsupport.zendesk.com/hc/en-us/categories/115001572108",
    # https://quoraadsupport.zendesk.com/hc/en-us/categories/115001572108
    code="""
      if (!window.qp) {
        var qp = window.qp = function () {
          qp.qp ? qp.qp.apply(qp, arguments) : qp.queue.push(arguments);
        };
        qp.queue = [];
      }
      ids.forEach(function (id) { window.qp("init", id); });
      window.qp("track", "ViewContent");
      load("https://a.quora.com/qevents.js");
    """,
    scripts=("https://a.quora.com",),
    images=("https://q.quora.com",),
    connections=("https://q.quora.com",),
    counts=r"https://q\.quora\.com/_/ad/",
    picture="https://q.quora.com/_/ad/{id}/pixel?tag=ViewContent&noscript=1",
)
