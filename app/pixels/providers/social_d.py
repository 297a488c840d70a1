"""X (Twitter) pixels: their identifiers, their script and their hosts."""

from __future__ import annotations

from app.i18n.messages import gettext_noop as _noop
from app.pixels.provider import Provider

# X documents no hosts. A view goes to `t.co/i/adsct` and `analytics.twitter.com/i/adsct`; two others as in
# https://github.com/jonashaag/content-security-policy-rules/blob/master/twitter-pixel.md
COUNTS = (
    "https://t.co",
    "https://analytics.twitter.com",
    "https://ads-api.twitter.com",
    "https://static.ads-twitter.com",
)
PROVIDER = Provider(
    label="X (Twitter)",
    words=("twitter",),
    example="o1ab2",
    looks_like=r"[a-z0-9]{5,6}",
    hint=_noop("%(label)s: pixel id, five or six small letters and digits."),
    mismatch=_noop(
        "This does not look like a pixel id of %(label)s: "
        "five or six small letters and digits, like %(example)s."
    ),
    help_url="https://business.x.com/en/help/campaign-measurement-and-analytics/conversion-tracking-for-websites",
    # the page named above: `config` counts the view
    code="""
      if (!window.twq) {
        var twq = window.twq = function () {
          twq.exe ? twq.exe.apply(twq, arguments) : twq.queue.push(arguments);
        };
        twq.version = "1.1";
        twq.queue = [];
      }
      ids.forEach(function (id) { window.twq("config", id); });
      load("https://static.ads-twitter.com/uwt.js");
    """,
    scripts=("https://static.ads-twitter.com",),
    images=COUNTS,
    connections=COUNTS,
    counts=r"https://(?:t\.co|analytics\.twitter\.com)/(?:1/)?i/adsct\?",
)
