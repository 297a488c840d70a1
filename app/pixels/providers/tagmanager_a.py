"""Google Tag Manager: its identifiers and its script. It may call any host."""

from __future__ import annotations

from app.i18n.messages import gettext_noop as _noop
from app.pixels.provider import Provider

PROVIDER = Provider(
    label="Google Tag Manager",
    words=("google_tag_manager",),
    example="GTM-AB12CD3",
    looks_like=r"GTM-[A-Z0-9]{4,10}",
    hint=_noop("%(label)s: container id, GTM- and some seven capital letters and digits."),
    mismatch=_noop(
        "This does not look like a container id of %(label)s: "
        "GTM- and some seven capital letters and digits, like %(example)s."
    ),
    help_url="https://support.google.com/tagmanager/answer/6103696",
    # https://developers.google.com/tag-platform/tag-manager/web: the owner decides what a container holds
    code="""
      window.dataLayer = window.dataLayer || [];
      window.dataLayer.push({"gtm.start": new Date().getTime(), event: "gtm.js"});
      ids.forEach(function (id) {
        load("https://www.googletagmanager.com/gtm.js?id=" + encodeURIComponent(id));
      });
    """,
    scripts=("https://www.googletagmanager.com",),
    is_owners_script=True,
)
