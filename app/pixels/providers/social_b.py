"""What is known of LinkedIn's pixels?"""

from __future__ import annotations

from app.pixels.provider import Provider

PROVIDER = Provider(
    label="LinkedIn",
    words=("linkedin",),
    calls_it="partner id",
    example="1234567",
    looks_like=r"[0-9]{4,10}",
    hint="some seven digits",
    help_url="https://www.linkedin.com/help/lms/answer/a418880",
)
