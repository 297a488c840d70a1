"""What is known of TikTok's pixels?"""

from __future__ import annotations

from app.pixels.provider import Provider

PROVIDER = Provider(
    label="TikTok",
    words=("tiktok",),
    calls_it="pixel id",
    example="C4ABCDEFGH1234567890",
    looks_like=r"[A-Z0-9]{20}",
    hint="20 capital letters and digits",
    help_url="https://ads.tiktok.com/help/article/get-started-pixel",
)
