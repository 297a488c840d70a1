"""Parameters of a simulated visit. They are read strictly, and all errors are reported at once."""

# see docs/decisions/2026-11-21-explain.md
from __future__ import annotations

import datetime as dt
import ipaddress
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData
from app.input.params import ParamReader
from app.input.parsers import Rejected, parse_boolean, parse_datetime, plain_text
from app.links.targeting import TYPES
from app.redirects import referrer
from app.redirects.simulation.visitor import VisitorProfile, as_sent
from app.redirects.state import CONFIRMATION, PASSWORD, WARNING
from app.redirects.visitor import LONGEST_LANGUAGES, languages

LONGEST_AGENT = 4096
LONGEST_QUERY = 8192
LONGEST_CITY = 128
GATES = (PASSWORD, WARNING, CONFIRMATION)
MAX_TEXT = sys.maxsize  # each parser has a bound of its own
MAX_GATES = 10  # words in `unlocked`: names of the three gates, or a yes for all of them
UNSENDABLE = re.compile(r"[#\s]")
RANGE = r"(?:\*|[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)(?:[ \t]*;[ \t]*q=[01](?:\.[0-9]{0,3})?)?"
RANGES = re.compile(rf"{RANGE}(?:[ \t]*,[ \t]*{RANGE})*", re.ASCII | re.IGNORECASE)

Read = Callable[[str], Any]


def address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise Rejected(_l("This must be an IP address, like 192.0.2.1 or 2001:db8::1."), "ip") from None


def accepted(text: str) -> str:
    """An `Accept-Language` as a browser sends it."""
    if not RANGES.fullmatch(plain_text(text, LONGEST_LANGUAGES)) or not languages(text):
        raise Rejected(
            _l("This must be languages as a browser sends them, like de-DE,de;q=0.9,en;q=0.8."), "language"
        )
    return text


def query(text: str) -> str:
    """A raw query: what comes after the `?`."""
    if UNSENDABLE.search(plain_text(text, LONGEST_QUERY)):
        raise Rejected(_l("This must not contain # or spaces: a browser never sends them."), "query")
    return text


def read_page(text: str) -> str:
    if not referrer.referrer(as_sent(plain_text(text, referrer.LONGEST)))[0]:
        raise Rejected(_l("This must be the whole address of a page, like https://example.com/page."), "url")
    return text


def short(most: int) -> Read:
    return lambda text: plain_text(text, most)


# `at` and `unlocked` are read separately. An empty parameter is empty: the visitor has none of it
READ: Mapping[str, Read] = {
    "ip": address,
    "country_code": TYPES["country_code"].read,
    "continent_code": TYPES["continent_code"].read,
    "city_name": short(LONGEST_CITY),
    "user_agent": short(LONGEST_AGENT),
    "device_type": TYPES["device_type"].read,
    "os_name": TYPES["os_name"].read,
    "browser_name": TYPES["browser_name"].read,
    "accept_language": accepted,
    "query": query,
    "referrer": read_page,
}


def read_profile(data: RequestData, zone: dt.tzinfo = dt.UTC) -> VisitorProfile:
    """The simulated visit of these parameters. Times without an offset are in `zone`. Unknown parameters are
    ignored.

    Raises Invalid with every parameter that can't be used.
    """
    reader = ParamReader({name: str(data.last(name)) for name in data})
    found = {name: reader.read(name, None, or_empty(read), MAX_TEXT) for name, read in READ.items()}
    at = reader.read("at", None, lambda text: parse_datetime(text, zone), MAX_TEXT)
    unlocked = read_unlocked(reader, data)
    reader.require_valid()
    return VisitorProfile(at=at, unlocked=unlocked, **found)


def or_empty(read: Read) -> Read:
    return lambda text: text and read(text)


def read_unlocked(reader: ParamReader, data: RequestData) -> frozenset[str]:
    """The gates that the visitor has passed: by their names, or all by a yes."""
    words = [word for _, value in data.members("unlocked") for word in str(value).split(",")]
    if len(words) > MAX_GATES:
        reader.add_problem(
            "unlocked", Rejected(_l("There may be at most %(most)s.", most=MAX_GATES), "too_many")
        )
        return frozenset()
    found = [reader.parse("unlocked", word, (), gates) for word in words]
    return frozenset(gate for each in found for gate in each)


def gates(word: str) -> tuple[str, ...]:
    if word in GATES:
        return (word,)
    try:
        return GATES if parse_boolean(word) else ()
    except Rejected:
        raise Rejected(_l("This must be password, warning, confirmation, or several."), "choice") from None
