"""Which parts of a visit's line come again and again, and so are cut, cleaned and joined only once?

Each function gives one or more fields of the journal's line, in its order, parted by TAB.
"""

from __future__ import annotations

from functools import lru_cache

from app.journal.record import cleaned
from app.visits.agents import bot_name


@lru_cache(maxsize=10_000)
def agent(text: str) -> tuple[str, str]:
    """`is_bot` and `bot_name`; and the agent itself, which stands further on."""
    name = bot_name(text)
    return f"{1 if name else 0}\t{cleaned('bot_name', name)}", cleaned("agent", text)


@lru_cache(maxsize=10_000)
def place(country_code: str, continent_code: str, city_name: str) -> str:
    country, continent = cleaned("country_code", country_code), cleaned("continent_code", continent_code)
    return f"{country}\t{continent}\t{cleaned('city_name', city_name)}"


@lru_cache(maxsize=1024)
def language(text: str) -> str:
    return cleaned("language", text)


@lru_cache(maxsize=4096)
def referrer(host: str, path: str) -> str:
    return f"{cleaned('referrer_host', host)}\t{cleaned('referrer_path', path)}"


@lru_cache(maxsize=1024)
def utm(source: str, medium: str, campaign: str) -> str:
    start = f"{cleaned('utm_source', source)}\t{cleaned('utm_medium', medium)}"
    return f"{start}\t{cleaned('utm_campaign', campaign)}"


@lru_cache(maxsize=4096)
def destination(text: str) -> str:
    return cleaned("destination", text)
