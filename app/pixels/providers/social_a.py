"""Meta (Facebook) pixels: their identifiers, their script and their hosts."""

from __future__ import annotations

from app.i18n.messages import gettext_noop as _noop
from app.pixels.provider import Provider

PROVIDER = Provider(
    label="Meta (Facebook)",
    words=("facebook",),
    example="1234567890123456",
    looks_like=r"[0-9]{12,18}",
    hint=_noop("%(label)s: pixel id, 15 or 16 digits."),
    mismatch=_noop("This does not look like a pixel id of %(label)s: 15 or 16 digits, like %(example)s."),
    help_url="https://business.facebook.com/events_manager2",
    # https://developers.facebook.com/docs/meta-pixel/get-started: one PageView counts for every id set up
    code="""
      if (!window.fbq) {
        var fbq = window.fbq = function () {
          fbq.callMethod ? fbq.callMethod.apply(fbq, arguments) : fbq.queue.push(arguments);
        };
        window._fbq = window._fbq || fbq;
        fbq.push = fbq;
        fbq.loaded = true;
        fbq.version = "2.0";
        fbq.queue = [];
      }
      ids.forEach(function (id) { window.fbq("init", id); });
      window.fbq("track", "PageView");
      load("https://connect.facebook.net/en_US/fbevents.js");
    """,
    scripts=("https://connect.facebook.net",),
    images=("https://www.facebook.com",),
    connections=("https://connect.facebook.net", "https://www.facebook.com"),
    counts=r"https://www\.facebook\.com/tr/?(?:\?|$)",
    picture="https://www.facebook.com/tr?id={id}&ev=PageView&noscript=1",
)
