"""What is known of Meta (Facebook)'s pixels?"""

from __future__ import annotations

from app.pixels.provider import Provider

PROVIDER = Provider(
    label="Meta (Facebook)",
    words=("facebook",),
    calls_it="pixel id",
    example="1234567890123456",
    looks_like=r"[0-9]{12,18}",
    hint="15 or 16 digits",
    help_url="https://business.facebook.com/events_manager2",
)
