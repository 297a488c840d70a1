"""What is known of Google Analytics's pixels?"""

from __future__ import annotations

from app.pixels.provider import Provider

PROVIDER = Provider(
    label="Google Analytics",
    words=("google_analytics",),
    calls_it="measurement id",
    example="G-AB12CD34EF",
    looks_like=r"G-[A-Z0-9]{6,12}",
    hint="G- and some ten capital letters and digits",
    help_url="https://support.google.com/analytics/answer/9539598",
)
