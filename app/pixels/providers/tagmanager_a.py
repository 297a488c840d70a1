"""What is known of Google Tag Manager's pixels?"""

from __future__ import annotations

from app.pixels.provider import Provider

PROVIDER = Provider(
    label="Google Tag Manager",
    words=("google_tag_manager",),
    calls_it="container id",
    example="GTM-AB12CD3",
    looks_like=r"GTM-[A-Z0-9]{4,10}",
    hint="GTM- and some seven capital letters and digits",
    help_url="https://support.google.com/tagmanager/answer/6103696",
)
