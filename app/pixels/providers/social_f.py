"""TikTok pixels: their identifiers, their script and their hosts."""

from __future__ import annotations

from app.i18n.messages import gettext_noop as _noop
from app.pixels.provider import Provider

# https://business-api.tiktok.com/portal/docs?id=1739585702922241 ("Content Security Policy"); the second one
# serves visitors with IPv6
HOSTS = ("https://analytics.tiktok.com", "https://analytics-ipv6.tiktokw.us", "https://ads.tiktok.com")
PROVIDER = Provider(
    label="TikTok",
    words=("tiktok",),
    example="C4ABCDEFGH1234567890",
    looks_like=r"[A-Z0-9]{20}",
    hint=_noop("%(label)s: pixel id, 20 capital letters and digits."),
    mismatch=_noop(
        "This does not look like a pixel id of %(label)s: 20 capital letters and digits, like %(example)s."
    ),
    help_url="https://ads.tiktok.com/help/article/get-started-pixel",
    # https://ads.tiktok.com/help/article/get-started-pixel: a queue for each id, which its script takes over
    code="""
      window.TiktokAnalyticsObject = "ttq";
      var ttq = window.ttq = window.ttq || [];
      ttq.methods = ["page", "track", "identify", "instances", "debug", "on", "off", "once", "ready", "alias",
        "group", "enableCookie", "disableCookie", "holdConsent", "revokeConsent", "grantConsent"];
      ttq.setAndDefer = function (calls, name) {
        calls[name] = function () { calls.push([name].concat(Array.prototype.slice.call(arguments))); };
      };
      ttq.instance = function (id) {
        var calls = ttq._i[id] || [];
        ttq.methods.forEach(function (name) { ttq.setAndDefer(calls, name); });
        return calls;
      };
      ttq._i = ttq._i || {};
      ttq._t = ttq._t || {};
      ttq._o = ttq._o || {};
      ttq.load = function (id, options) {
        var address = "https://analytics.tiktok.com/i18n/pixel/events.js";
        ttq._i[id] = [];
        ttq._i[id]._u = address;
        ttq._t[id] = Date.now();
        ttq._o[id] = options || {};
        load(address + "?sdkid=" + encodeURIComponent(id) + "&lib=ttq");
      };
      ttq.methods.forEach(function (name) { ttq.setAndDefer(ttq, name); });
      ids.forEach(function (id) { ttq.load(id); });
      ttq.page();
    """,
    scripts=HOSTS,
    images=HOSTS,
    connections=HOSTS,
    counts=r"https://analytics\.tiktok\.com/api/v2/pixel(?:/track)?/?(?:\?|$)",
)
