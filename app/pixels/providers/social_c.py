"""What is known of Pinterest's pixels?"""

from __future__ import annotations

from app.pixels.provider import Provider

PROVIDER = Provider(
    label="Pinterest",
    words=("pinterest",),
    calls_it="tag id",
    example="2612345678901",
    looks_like=r"[0-9]{13}",
    hint="13 digits",
    help_url="https://help.pinterest.com/en/business/article/install-the-pinterest-tag",
)
