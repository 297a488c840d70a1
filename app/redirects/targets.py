"""Chooses a visitor's targeting pair among those of a link.

What a targeting type compares stands with the type, in `links.targeting`. Pairs are compiled once, so that
choosing among a hundred takes no longer than among two.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from hashlib import blake2b
from itertools import accumulate
from sys import getsizeof
from typing import NamedTuple, Protocol

from app.i18n.messages import lazy_gettext as _l
from app.links.targeting import TYPES, Matcher
from app.redirects.visitor import Visitor

Pairs = Sequence[Sequence[str]]
PAIR = 200  # bytes that a pair takes in addition to its destination
MAX_KEYS_NAMED = 6  # of a long list, in the explanation


class TargetingResult(NamedTuple):
    """The destination of the chosen pair, None if no pair matches; and what was compared."""

    destination: str | None
    detail: str


class Targets(Protocol):
    """A link's compiled pairs. `weight`: about how many bytes they take."""

    weight: int

    def choose(self, visitor: Visitor, link_id: int, owner_id: int) -> TargetingResult: ...


class Listed:
    """Pairs by a property of the visitor: the first pair whose key matches."""

    __slots__ = ("destinations", "indexes", "keys", "matcher", "weight")

    def __init__(self, matcher: Matcher, pairs: Pairs) -> None:
        self.matcher = matcher
        self.keys = tuple(key for key, _ in pairs)
        self.destinations = tuple(destination for _, destination in pairs)
        self.weight = weight_of(pairs)
        self.indexes: dict[str, int] = {}
        for index, key in enumerate(self.keys):
            self.indexes.setdefault(matcher.read(key), index)  # the same key twice: the first wins

    def choose(self, visitor: Visitor, link_id: int, owner_id: int) -> TargetingResult:  # noqa: ARG002  as Rotation
        groups = self.matcher.keys(visitor)
        for group in groups:
            found = [self.indexes[key] for key in group if key in self.indexes]
            if found:
                return self.chosen(min(found), group)
        return TargetingResult(
            None,
            _l(
                "%(keys)s is none of: %(known)s",
                keys=describe(groups),
                known=self.describe_keys(),
            )
            if groups
            else _l("unknown"),
        )

    def chosen(self, index: int, group: Sequence[str]) -> TargetingResult:
        return TargetingResult(
            self.destinations[index],
            _l(
                "%(keys)s is pair %(number)s: %(key)s",
                keys=describe([group]),
                number=index + 1,
                key=self.keys[index],
            ),
        )

    def describe_keys(self) -> str:
        first = "; ".join(self.keys[:MAX_KEYS_NAMED])
        return f"{first}; …" if len(self.keys) > MAX_KEYS_NAMED else first


def describe(groups: Sequence[Sequence[str]]) -> str:
    """A visitor's keys in words: the longest of each group."""
    return "; ".join(group[-1] for group in groups)


class Rotation:
    """Pairs by weight: a visitor gets the same pair until the UTC day ends, without a cookie."""

    __slots__ = ("destinations", "ends", "weight")

    def __init__(self, pairs: Pairs) -> None:
        self.destinations = tuple(destination for _, destination in pairs)
        self.weight = weight_of(pairs)
        self.ends = tuple(accumulate(int(weight) for weight, _ in pairs))

    def choose(self, visitor: Visitor, link_id: int, owner_id: int) -> TargetingResult:
        if not self.ends:
            return TargetingResult(None, _l("no pairs"))
        total = self.ends[-1]
        place = drawn(visitor.day_hash(owner_id), link_id) % total
        index = bisect_right(self.ends, place)
        weight = self.ends[index] - (self.ends[index - 1] if index else 0)
        return TargetingResult(
            self.destinations[index],
            _l(
                "drew pair %(number)s for today: %(weight)s of %(total)s",
                number=index + 1,
                weight=weight,
                total=total,
            ),
        )


def drawn(who: str, link_id: int) -> int:
    """A number for this visitor and link. It depends on the link, so that two links split visitors
    differently."""
    return int.from_bytes(blake2b(f"{link_id}\0{who}".encode(), digest_size=8).digest())


def weight_of(pairs: Pairs) -> int:
    return sum(PAIR + getsizeof(destination) for _, destination in pairs)


def compiled_targets(type_: str | None, pairs: Pairs | None) -> Targets | None:
    """Compile the stored pairs of a link; None if it has no targeting."""
    if type_ is None:
        return None
    matcher = TYPES[type_].matcher
    return Rotation(pairs or ()) if matcher is None else Listed(matcher, pairs or ())
