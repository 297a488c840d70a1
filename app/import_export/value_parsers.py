"""Parsers of cells: dates, states, hosts, tags and names, as services and our own export write them."""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from app.core.clock import now
from app.i18n.messages import lazy_gettext as _l
from app.import_export.dates import read_date
from app.input.parsers import Rejected, no_moment, parse_datetime

Name = tuple[str, ...]
#: parses one cell of a row by its field, and notes its problem; the optional third argument is the default
Read = Callable[..., Any]
EARLIEST = dt.datetime(1995, 1, 1, tzinfo=dt.UTC)
COLOR = re.compile(r"#[0-9a-f]{6}", re.ASCII)
LATEST = dt.timedelta(days=36_500)  # from now
FRACTION = re.compile(r"(?<=:\d\d)\.\d+")  # of a second
WORDED = (
    *("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y %H:%M", "%b %d, %Y %I:%M %p"),
    *("%d-%b-%Y", "%d-%b-%y", "%d-%b-%Y %H:%M", "%d-%b-%Y %H:%M:%S", "%d-%b-%y %H:%M"),
)

# States of links at other services, without case. A hidden or archived link still redirects there
# (as far as we know, Bitly, Dub and Short.io only take it out of their lists)
ON = ("active", "enabled", "live", "published", "hidden", "archived", "ok")
OFF = (
    *("inactive", "disabled", "deleted", "removed", "expired", "blocked"),
    *("banned", "suspended", "paused", "draft"),
)
STATES = {**dict.fromkeys(ON, "1"), **dict.fromkeys(OFF, "0")}


def flag_of(text: str) -> str:
    """A state as the form reads it. An unknown text is returned as it is, and the form rejects it."""
    return STATES.get(text.strip().lower(), text)


def host_of(text: str) -> str:
    return (urlsplit(text if "://" in text else f"//{text}").netloc).lower()


def tags_of(text: str) -> list[str]:
    """Tags as our own export writes them, else separated by `|`, `;` or commas."""
    if text.startswith("["):
        found = loaded(text)
        if isinstance(found, list):
            return [tag_name(tag) for tag in found]
    separator = next((each for each in "|;" if each in text), ",")
    return [tag.strip() for tag in text.split(separator) if tag.strip()]


def tag_name(tag: Any) -> str:
    """The name of a tag. In the APIs of Rebrandly and Dub a tag is an object with a `name`."""
    return str(tag["name"]) if isinstance(tag, dict) and "name" in tag else str(tag)


def pairs_of(text: str) -> list[tuple[str, str]]:
    found = loaded(text)
    if not isinstance(found, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in found):
        raise Rejected(_l('This must be pairs like [["DE","https://example.com/de"]].'), "format")
    return [(str(key), str(value)) for key, value in found]


def names_of(text: str, problem: str) -> list[Name]:
    """The names in a cell of our own export: handlers by type and name, pixels by type, id and name."""
    found = loaded(text)
    if not isinstance(found, list):
        raise Rejected(problem, "format")
    return [tuple(map(str, one)) if isinstance(one, list) else () for one in found]


def named_ids(names: Sequence[Name], known: Mapping[Name, Sequence[int]]) -> list[int]:
    """The ids of names, of which none is missing. A name that occurs twice stands for two rows with it."""
    return sorted(id_ for name, count in Counter(names).items() for id_ in known[name][:count])


def missing_names(names: Sequence[Name], known: Mapping[Name, Sequence[int]]) -> dict[Name, int]:
    """How many rows of each name are missing."""
    missing = {name: count - len(known.get(name, ())) for name, count in Counter(names).items()}
    return {name: count for name, count in missing.items() if count > 0}


def read_color(text: str) -> str:
    """A colour as `#rrggbb`. Raises Rejected."""
    if not COLOR.fullmatch(text.lower()):
        raise Rejected(_l("This must be a colour like #4263eb."), "format")
    return text.lower()


def loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def when(text: str, date_order: str = "") -> dt.datetime:
    """A moment as services write it: in the contract's format, with fractions, as Unix time, in English.

    Also as spreadsheets write it, with day, month and year in `date_order`.
    """
    simple = FRACTION.sub("", text.strip()).removesuffix(" UTC")
    found = from_number(simple) or as_ours(re.sub(r" (?=[+-]\d)", "", simple))
    found = found or read_date(text.strip(), date_order) or from_words(simple)
    if found is None:
        raise no_moment()
    if not EARLIEST <= found <= now() + LATEST:
        raise Rejected(_l("This can't be the time at which a link was created, or will end."), "datetime")
    return found


def as_ours(text: str) -> dt.datetime | None:
    try:
        return parse_datetime(text)
    except Rejected:
        return None


def from_number(text: str) -> dt.datetime | None:
    if not re.fullmatch(r"\d{10}|\d{13}", text):
        return None
    return dt.datetime.fromtimestamp(int(text[:10]), dt.UTC)


def from_words(text: str) -> dt.datetime | None:
    for form in WORDED:
        try:
            return dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC)
        except ValueError:
            continue
    return None
