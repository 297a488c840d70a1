"""Pinterest pixels: their identifiers, their script and their hosts."""

from __future__ import annotations

from app.i18n.messages import gettext_noop as _noop
from app.pixels.provider import Provider

PROVIDER = Provider(
    label="Pinterest",
    words=("pinterest",),
    example="2612345678901",
    looks_like=r"[0-9]{13}",
    hint=_noop("%(label)s: tag id, 13 digits."),
    mismatch=_noop("This does not look like a tag id of %(label)s: 13 digits, like %(example)s."),
    help_url="https://help.pinterest.com/en/business/article/install-the-pinterest-tag",
    # https://help.pinterest.com/en/business/article/install-the-pinterest-tag
    code="""
      if (!window.pintrk) {
        window.pintrk = function () { window.pintrk.queue.push(Array.prototype.slice.call(arguments)); };
        window.pintrk.queue = [];
        window.pintrk.version = "3.0";
      }
      ids.forEach(function (id) { window.pintrk("load", id); });
      window.pintrk("page");
      load("https://s.pinimg.com/ct/core.js");
    """,
    scripts=("https://s.pinimg.com",),
    images=("https://ct.pinterest.com",),
    connections=("https://ct.pinterest.com",),
    frames=("https://ct.pinterest.com",),
    counts=r"https://ct\.pinterest\.com/v3/",
    picture="https://ct.pinterest.com/v3/?event=init&tid={id}&noscript=1",
)
