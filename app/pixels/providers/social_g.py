"""Snapchat pixels: their identifiers, their script and their hosts."""

from __future__ import annotations

from app.i18n.messages import gettext_noop as _noop
from app.pixels.provider import Provider

# Snap documents the first; its script was seen to send the same to the second
COUNTS = ("https://tr.snapchat.com", "https://tr6.snapchat.com")
PROVIDER = Provider(
    label="Snapchat",
    words=("snapchat",),
    example="01234567-89ab-cdef-0123-456789abcdef",
    looks_like=r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    hint=_noop("%(label)s: pixel id, 32 digits and letters a to f in five groups."),
    mismatch=_noop(
        "This does not look like a pixel id of %(label)s: "
        "32 digits and letters a to f in five groups, like %(example)s."
    ),
    help_url="https://businesshelp.snapchat.com/s/article/snap-pixel-about",
    # https://businesshelp.snapchat.com/s/article/pixel-website-install
    code="""
      if (!window.snaptr) {
        var snaptr = window.snaptr = function () {
          snaptr.handleRequest ? snaptr.handleRequest.apply(snaptr, arguments) : snaptr.queue.push(arguments);
        };
        snaptr.queue = [];
      }
      ids.forEach(function (id) { window.snaptr("init", id); });
      window.snaptr("track", "PAGE_VIEW");
      load("https://sc-static.net/scevent.min.js");
    """,
    scripts=("https://sc-static.net", "https://tr.snapchat.com"),
    images=COUNTS,
    connections=COUNTS,
    frames=("https://tr.snapchat.com",),
    counts=r"https://tr6?\.snapchat\.com/p(?:\?|$)",
)
