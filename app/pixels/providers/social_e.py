"""What is known of Quora's pixels?"""

from __future__ import annotations

from app.pixels.provider import Provider

PROVIDER = Provider(
    label="Quora",
    words=("quora",),
    calls_it="pixel id",
    example="0123456789abcdef0123456789abcdef",
    looks_like=r"[0-9a-f]{32}",
    hint="32 digits and letters a to f",
    help_url="https://quoraadsupport.zendesk.com/hc/en-us/categories/115001572108",
)
