"""What do texts in tables of other services mean, and in ours, where a cell holds several things?"""

from __future__ import annotations

import datetime as dt
import json
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import unquote, urlsplit

from app.clock import now
from app.reading import Rejected, moment, no_moment

Name = tuple[str, ...]
EARLIEST = dt.datetime(1995, 1, 1, tzinfo=dt.UTC)
LATEST = dt.timedelta(days=36_500)  # from now
WORDED = (
    *("%b %d, %Y", "%B %d, %Y", "%d %b %Y", "%d %B %Y", "%b %d, %Y %H:%M"),
    *("%Y/%m/%d", "%Y/%m/%d %H:%M:%S"),
)

# What other services say of a link, without case. One that is hidden or archived there goes on to redirect
# (as far as we know, Bitly, Dub and Short.io only take it out of their lists)
ON = ("active", "enabled", "live", "published", "hidden", "archived", "ok")
OFF = (
    *("inactive", "disabled", "deleted", "removed", "expired", "blocked"),
    *("banned", "suspended", "paused", "draft"),
)
STATES = {**dict.fromkeys(ON, "1"), **dict.fromkeys(OFF, "0")}


def flag_of(text: str) -> str:
    """As our form reads it; what is no state stays, and is told to be none."""
    return STATES.get(text.strip().lower(), text)


def alias_of(text: str) -> str:
    """The alias itself, or the path of a whole short address."""
    if "/" not in text:
        return text
    path = urlsplit(text if "://" in text else f"//{text}").path if not text.startswith("/") else text
    return unquote(path.strip("/"))


def host_of(text: str) -> str:
    return (urlsplit(text if "://" in text else f"//{text}").netloc).lower()


def tags_of(text: str) -> list[str]:
    """As our own export writes them, else parted by `|`, `;` or commas."""
    if text.startswith("["):
        found = loaded(text)
        if isinstance(found, list):
            return [str(tag) for tag in found]
    separator = next((each for each in "|;" if each in text), ",")
    return [tag.strip() for tag in text.split(separator) if tag.strip()]


def pairs_of(text: str) -> list[tuple[str, str]]:
    found = loaded(text)
    if not isinstance(found, list) or not all(isinstance(pair, list) and len(pair) == 2 for pair in found):
        raise Rejected('This must be pairs like [["DE","https://example.com/de"]].', "format")
    return [(str(key), str(value)) for key, value in found]


def named_ids(text: str, known: Mapping[Name, Sequence[int]], what: str) -> list[int]:
    """Ids of what our own export names: handlers by type and name, pixels by type, id and name.

    What is named twice is two rows that nothing tells apart.
    """
    found = loaded(text)
    if not isinstance(found, list):
        raise Rejected(f'This must be a list of {what}s like [["type","name"]].', "format")
    wanted = [tuple(map(str, one)) if isinstance(one, list) else () for one in found]
    ids: list[int] = []
    for one, count in Counter(wanted).items():
        same, name = ids_of_name(one, known, wanted), " ".join(one)
        if not same:
            raise Rejected(f"You have no {what} {name}.", "not_found")
        if len(same) < count:
            raise Rejected(f"This names {count} of {what} {name}, you have {len(same)}.", "not_found")
        ids += same[:count]
    return sorted(ids)


def ids_of_name(one: Name, known: Mapping[Name, Sequence[int]], wanted: Sequence[Name]) -> Sequence[int]:
    """Rows of this name. A pixel that has another name here is found by type and id, if it is alone."""
    if one in known:
        return known[one]
    alike = known.get(one[:2], ())
    is_only = len(alike) == 1 and sum(other[:2] == one[:2] for other in wanted) == 1
    return alike if is_only else ()


def loaded(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def when(text: str) -> dt.datetime:
    """A moment as services write it: as the contract does, with fractions, in Unix time, in English words."""
    simple = re.sub(r"(?<=\d)\.\d+", "", text.strip()).removesuffix(" UTC")
    found = from_number(simple) or as_ours(re.sub(r" (?=[+-]\d)", "", simple)) or from_words(simple)
    if found is None:
        raise no_moment()
    if not EARLIEST <= found <= now() + LATEST:
        raise Rejected("This is no time at which a link was made, or will end.", "datetime")
    return found


def as_ours(text: str) -> dt.datetime | None:
    try:
        return moment(text)
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
