"""What is known of Snapchat's pixels?"""

from __future__ import annotations

from app.pixels.provider import Provider

PROVIDER = Provider(
    label="Snapchat",
    words=("snapchat",),
    calls_it="pixel id",
    example="01234567-89ab-cdef-0123-456789abcdef",
    looks_like=r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    hint="32 digits and letters a to f in five groups",
    help_url="https://businesshelp.snapchat.com/s/article/snap-pixel-about",
)
