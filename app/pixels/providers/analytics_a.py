"""Google Analytics: its identifiers, its script and its hosts."""

from __future__ import annotations

from app.i18n.messages import gettext_noop as _noop
from app.pixels.provider import Provider

# https://developers.google.com/tag-platform/security/guides/csp, Google Analytics 4 with Google Signals.
# `*.google-analytics.com` includes the regional hosts (`region1.…`). The last two here stand for that page's
# `*.google.com` (`/g/collect`). Google's country domains, also listed there, only feed advertising audiences.
MEASURES = (
    "https://*.google-analytics.com",
    "https://*.analytics.google.com",
    "https://*.googletagmanager.com",
    "https://*.g.doubleclick.net",
    "https://analytics.google.com",
    "https://www.google.com",
)
PROVIDER = Provider(
    label="Google Analytics",
    words=("google_analytics",),
    example="G-AB12CD34EF",
    looks_like=r"G-[A-Z0-9]{6,12}",
    hint=_noop("%(label)s: measurement id, G- and some ten capital letters and digits."),
    mismatch=_noop(
        "This does not look like a measurement id of %(label)s: "
        "G- and some ten capital letters and digits, like %(example)s."
    ),
    help_url="https://support.google.com/analytics/answer/9539598",
    # https://developers.google.com/tag-platform/gtagjs
    code="""
      window.dataLayer = window.dataLayer || [];
      window.gtag = window.gtag || function () { window.dataLayer.push(arguments); };
      window.gtag("js", new Date());
      ids.forEach(function (id) { window.gtag("config", id); });
      load("https://www.googletagmanager.com/gtag/js?id=" + encodeURIComponent(ids[0]));
    """,
    scripts=("https://*.googletagmanager.com",),
    images=MEASURES,
    connections=(*MEASURES, "https://pagead2.googlesyndication.com"),
    frames=("https://td.doubleclick.net", "https://www.googletagmanager.com"),
    counts=r"https://[a-z0-9.-]+/g/collect\?",
)
