"""Which of a link's targeting pairs is the visitor's?

What a type of targeting asks is a row of one table. Pairs are compiled once, so that a hundred cost a visitor
no more than two.
"""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import blake2b
from itertools import accumulate
from sys import getsizeof
from typing import NamedTuple, Protocol

from app.caches import cache_texts
from app.visits.devices import browser_name, system_name
from app.visits.visitor import Visitor

Pairs = Sequence[Sequence[str]]
PAIR = 200  # bytes that a pair takes beside its destination
SHOWN = 6  # keys of a long list that the explanation names


class Choice(NamedTuple):
    """A pair's destination, or None where none is the visitor's; and what was compared."""

    destination: str | None
    detail: str


class Targets(Protocol):
    """A link's pairs, ready to be asked. `weight`: about how many bytes they take."""

    weight: int

    def choose(self, visitor: Visitor, link_id: int, owner_id: int) -> Choice: ...


@cache_texts(4096, max_characters=128, bytes_per_entry=1500)
def plain(text: str) -> str:
    """The form in which keys are compared: without case."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", text).casefold())


class Asked(NamedTuple):
    """A row: the keys that a visitor answers to, and how a pair's key is read.

    The keys come in groups, the best liked first: the first group of which any key is in the list decides,
    and within it the list's order.
    """

    keys: Callable[[Visitor], Sequence[Sequence[str]]]
    read: Callable[[str], str] = plain


def one(text: str) -> Sequence[Sequence[str]]:
    return ((plain(text),),) if text else ()


def city_keys(visitor: Visitor) -> Sequence[Sequence[str]]:
    """`Portland` and `Portland, US` alike: which of them goes first is the owner's to say."""
    name = plain(visitor.city_name)
    return ((name, f"{name}, {plain(visitor.country_code)}"),) if name else ()


def language_keys(visitor: Visitor) -> Sequence[Sequence[str]]:
    return ranges(visitor.languages)


@cache_texts(1024, max_characters=100, bytes_per_entry=8000)
def ranges(tags: Iterable[str]) -> Sequence[Sequence[str]]:
    """For each tag all that it falls under (RFC 4647, 3.3.1): `pt-br` under itself and `pt`."""
    return tuple(tuple(prefixes(plain(tag).split("-"))) for tag in tags)


def prefixes(subtags: Sequence[str]) -> Iterable[str]:
    return accumulate(subtags, "{}-{}".format)


ASKED: Mapping[str, Asked] = {
    "continent_code": Asked(lambda visitor: one(visitor.continent_code)),
    "country_code": Asked(lambda visitor: one(visitor.country_code)),
    "city_name": Asked(city_keys),
    "device_type": Asked(lambda visitor: one(visitor.device_type)),
    "browser_language": Asked(language_keys),
    "os_name": Asked(lambda visitor: one(visitor.os_name), lambda key: plain(system_name(key))),
    "browser_name": Asked(lambda visitor: one(visitor.browser_name), lambda key: plain(browser_name(key))),
}


class Listed:
    """Pairs by what the visitor is: the first whose key fits."""

    __slots__ = ("asked", "destinations", "indexes", "keys", "weight")

    def __init__(self, asked: Asked, pairs: Pairs) -> None:
        self.asked = asked
        self.keys = tuple(key for key, _ in pairs)
        self.destinations = tuple(destination for _, destination in pairs)
        self.weight = weight_of(pairs)
        self.indexes: dict[str, int] = {}
        for index, key in enumerate(self.keys):
            self.indexes.setdefault(asked.read(key), index)  # the same key twice: the first wins

    def choose(self, visitor: Visitor, link_id: int, owner_id: int) -> Choice:  # noqa: ARG002  as Rotation
        groups = self.asked.keys(visitor)
        for group in groups:
            found = [self.indexes[key] for key in group if key in self.indexes]
            if found:
                return self.chosen(min(found), group)
        return Choice(None, f"{told(groups)} is none of: {self.shown()}" if groups else "unknown")

    def chosen(self, index: int, group: Sequence[str]) -> Choice:
        return Choice(self.destinations[index], f"{told([group])} is pair {index + 1}: {self.keys[index]}")

    def shown(self) -> str:
        first = "; ".join(self.keys[:SHOWN])
        return f"{first}; …" if len(self.keys) > SHOWN else first


def told(groups: Sequence[Sequence[str]]) -> str:
    """What the visitor is in full: the longest key of each group."""
    return "; ".join(group[-1] for group in groups)


class Rotation:
    """Pairs by weight: the same visitor gets the same one until the UTC day ends, without a cookie."""

    __slots__ = ("destinations", "ends", "weight")

    def __init__(self, pairs: Pairs) -> None:
        self.destinations = tuple(destination for _, destination in pairs)
        self.weight = weight_of(pairs)
        self.ends = tuple(accumulate(int(weight) for weight, _ in pairs))

    def choose(self, visitor: Visitor, link_id: int, owner_id: int) -> Choice:
        if not self.ends:
            return Choice(None, "no pairs")
        total = self.ends[-1]
        place = drawn(visitor.day_hash(owner_id), link_id) % total
        index = bisect_right(self.ends, place)
        weight = self.ends[index] - (self.ends[index - 1] if index else 0)
        return Choice(self.destinations[index], f"drew pair {index + 1} for today: {weight} of {total}")


def drawn(who: str, link_id: int) -> int:
    """A number that is the visitor's for this link: on two links the same people must not stay together."""
    return int.from_bytes(blake2b(f"{link_id}\0{who}".encode(), digest_size=8).digest())


def weight_of(pairs: Pairs) -> int:
    return sum(PAIR + getsizeof(destination) for _, destination in pairs)


def compiled_targets(type_: str | None, pairs: Pairs | None) -> Targets | None:
    """The pairs of a link as stored; None where it has no targeting."""
    if type_ is None:
        return None
    return Rotation(pairs or ()) if type_ == "rotation" else Listed(ASKED[type_], pairs or ())
