"""What is known of X (Twitter)'s pixels?"""

from __future__ import annotations

from app.pixels.provider import Provider

PROVIDER = Provider(
    label="X (Twitter)",
    words=("twitter",),
    calls_it="pixel id",
    example="o1ab2",
    looks_like=r"[a-z0-9]{5,6}",
    hint="five or six small letters and digits",
    help_url="https://business.x.com/en/help/campaign-measurement-and-analytics/conversion-tracking-for-websites",
)
