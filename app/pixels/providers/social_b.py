"""LinkedIn pixels: their identifiers, their script and their hosts."""

from __future__ import annotations

from app.i18n.messages import gettext_noop as _noop
from app.pixels.provider import Provider

# LinkedIn documents no hosts. The script was seen to pick one of several for each view (`px`, `px4`, `dc`),
# which redirects to `www` for a visitor who is signed in
COUNTS = ("https://*.ads.linkedin.com", "https://www.linkedin.com")
PROVIDER = Provider(
    label="LinkedIn",
    words=("linkedin",),
    example="1234567",
    looks_like=r"[0-9]{4,10}",
    hint=_noop("%(label)s: partner id, some seven digits."),
    mismatch=_noop("This does not look like a partner id of %(label)s: some seven digits, like %(example)s."),
    help_url="https://www.linkedin.com/help/lms/answer/a418880",
    # https://www.linkedin.com/help/lms/answer/a418880: the script counts the view of each id by itself
    code="""
      window._linkedin_partner_id = ids[0];
      window._linkedin_data_partner_ids = (window._linkedin_data_partner_ids || []).concat(ids);
      if (!window.lintrk) {
        window.lintrk = function (name, value) { window.lintrk.q.push([name, value]); };
        window.lintrk.q = [];
      }
      load("https://snap.licdn.com/li.lms-analytics/insight.min.js");
    """,
    scripts=("https://snap.licdn.com",),
    images=COUNTS,
    connections=COUNTS,
    counts=r"https://[a-z0-9]+\.ads\.linkedin\.com/collect/?\?",
    picture="https://px.ads.linkedin.com/collect/?pid={id}&fmt=gif",
)
