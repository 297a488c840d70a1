"""What does an owner suppose of a visitor? Read strictly, with everything that is wrong at once."""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
from collections.abc import Callable, Mapping
from typing import Any

from app.errors import FieldError, Invalid
from app.links.targeting import TYPES
from app.reading import Problem, Rejected, flag, moment, plain
from app.sent import Sent
from app.visits import referring
from app.visits.facts import PASSWORD, WARNING
from app.visits.supposed import Supposed, as_sent
from app.visits.visitor import LONGEST_LANGUAGES, languages

LONGEST_AGENT = 4096
LONGEST_QUERY = 8192
LONGEST_CITY = 128
GATES = (PASSWORD, WARNING)
MAX_GATES = 10  # names of gates; there are two, and a yes is both
UNSENDABLE = re.compile(r"[#\s]")
RANGE = r"(?:\*|[A-Za-z]{1,8}(?:-[A-Za-z0-9]{1,8})*)(?:[ \t]*;[ \t]*q=[01](?:\.[0-9]{0,3})?)?"
RANGES = re.compile(rf"{RANGE}(?:[ \t]*,[ \t]*{RANGE})*", re.ASCII | re.IGNORECASE)

Read = Callable[[str], Any]


def address(text: str) -> str:
    try:
        return str(ipaddress.ip_address(text))
    except ValueError:
        raise Rejected("This must be an IP address, like 192.0.2.1 or 2001:db8::1.", "ip") from None


def accepted(text: str) -> str:
    """An `Accept-Language` as a browser sends it."""
    if not RANGES.fullmatch(plain(text, LONGEST_LANGUAGES)) or not languages(text):
        raise Rejected(
            "This must be languages as a browser sends them, like de-DE,de;q=0.9,en;q=0.8.", "language"
        )
    return text


def query(text: str) -> str:
    """What stands after the `?`, raw."""
    if UNSENDABLE.search(plain(text, LONGEST_QUERY)):
        raise Rejected("This may contain no # and no spaces: a browser never sends them.", "query")
    return text


def page(text: str) -> str:
    if not referring.referrer(as_sent(plain(text, referring.LONGEST)))[0]:
        raise Rejected("This must be the whole address of a page, like https://example.com/page.", "url")
    return text


def short(most: int) -> Read:
    return lambda text: plain(text, most)


# `at` and `unlocked` are read apart. What is sent empty is empty: the visitor has none of it
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
    "referrer": page,
}


def supposed(asked: Sent, zone: dt.tzinfo = dt.UTC) -> Supposed:
    """What the parameters say; times without an offset are of `zone`. Unknown ones are ignored.

    Raises Invalid with every parameter that can't be used.
    """
    question = Question(asked)
    found = {name: question.read(name, read) for name, read in READ.items()}
    at = question.read("at", lambda text: moment(text, zone), takes_empty=False)
    unlocked = question.unlocked()
    question.require_valid()
    return Supposed(at=at, unlocked=unlocked, **found)


class Question:
    """Reads parameters and keeps what is wrong with each."""

    def __init__(self, asked: Sent) -> None:
        self.asked = asked
        self.problems: list[FieldError] = []

    def read(self, name: str, read: Read, *, takes_empty: bool = True) -> Any:
        if name not in self.asked:
            return None
        text = str(self.asked.last(name))
        return text if takes_empty and not text else self.tried(name, read, text)

    def tried(self, name: str, read: Read, text: str) -> Any:
        try:
            return read(text)
        except Rejected as rejected:
            said = rejected.args[0]
            code = said.code if isinstance(said, Problem) else "invalid"
            self.problems.append(FieldError(str(said), code, name))
            return None

    def unlocked(self) -> frozenset[str]:
        """Which gates are passed: by their names, or all by a yes."""
        words = [word for _, value in self.asked.members("unlocked") for word in str(value).split(",")]
        if len(words) > MAX_GATES:
            self.problems.append(FieldError(f"There may be at most {MAX_GATES}.", "too_many", "unlocked"))
            return frozenset()
        found = [self.tried("unlocked", gates, word) or () for word in words]
        return frozenset(gate for each in found for gate in each)

    def require_valid(self) -> None:
        if self.problems:
            raise Invalid(*self.problems)


def gates(word: str) -> tuple[str, ...]:
    if word in GATES:
        return (word,)
    try:
        return GATES if flag(word) else ()
    except Rejected:
        raise Rejected("This must be password, warning, or both.", "choice") from None
