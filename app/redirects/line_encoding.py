"""Encodes the fields of a visit's journal line that repeat, and caches the results.

Each function returns one or more fields of the line, in its order, separated by TAB.
"""

from __future__ import annotations

from app.core.caches import cache_texts
from app.journal.codec import cleaned
from app.redirects.bots import LONGEST, bot_name


@cache_texts(4096, max_characters=LONGEST, bytes_per_entry=3200)
def agent(text: str) -> tuple[str, str]:
    """`is_bot` and `bot_name`; and the agent itself, which comes later in the line."""
    name = bot_name(text)
    return f"{1 if name else 0}\t{cleaned('bot_name', name)}", cleaned("agent", text)


@cache_texts(4096, max_characters=132, bytes_per_entry=1600)
def encode_location(country_code: str, continent_code: str, city_name: str) -> str:
    country, continent = cleaned("country_code", country_code), cleaned("continent_code", continent_code)
    return f"{country}\t{continent}\t{cleaned('city_name', city_name)}"


@cache_texts(1024, max_characters=100, bytes_per_entry=1200)
def language(text: str) -> str:
    return cleaned("language", text)


@cache_texts(2048, max_characters=256, bytes_per_entry=2800)
def referrer(host: str, path: str) -> str:
    return f"{cleaned('referrer_host', host)}\t{cleaned('referrer_path', path)}"


@cache_texts(1024, max_characters=256, bytes_per_entry=2800)
def utm(source: str, medium: str, campaign: str) -> str:
    start = f"{cleaned('utm_source', source)}\t{cleaned('utm_medium', medium)}"
    return f"{start}\t{cleaned('utm_campaign', campaign)}"


@cache_texts(2048, max_characters=512, bytes_per_entry=4600)
def destination(text: str) -> str:
    return cleaned("destination", text)
