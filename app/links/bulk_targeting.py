"""Targeting of many links: set it, add, replace or remove single pairs, or clear it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from app.core.errors import FieldError, Invalid
from app.i18n.messages import lazy_gettext as _l
from app.links.models import Link
from app.links.targeting import MAX_PAIRS, TYPES, normalize

ACTIONS = {
    "set": _l("Set on all"),
    "put": _l("Add or replace lines"),
    "remove": _l("Remove lines"),
    "clear": _l("Clear"),
}
Pairs = Sequence[Sequence[str]]


@dataclass(frozen=True)
class TargetingEdit:
    """What to do with the targeting of each link. `clear` needs no type and no pairs.

    To remove lines, one half of a pair is enough: "" is any.
    """

    action: str
    type_: str | None = None
    pairs: Pairs = ()

    def changes_of(self, link: Link) -> dict[str, Any]:
        """The changes for `services.update`. Raises Invalid where this link can't be changed so."""
        match self.action:
            case "set":
                return {"targeting_type": self.type_, "targeting": [list(pair) for pair in self.pairs]}
            case "put":
                return self.with_pairs(link)
            case "remove":
                return self.without_pairs(link)
        return {"targeting_type": None, "targeting": []}

    def with_pairs(self, link: Link) -> dict[str, Any]:
        if link.targeting_type not in (None, self.type_):
            label = TYPES[link.targeting_type].label if link.targeting_type in TYPES else link.targeting_type
            raise Invalid(
                FieldError(
                    _l("It has another targeting: %(type)s. “Set on all” would replace it.", type=label),
                    "targeting",
                    "targeting_type",
                )
            )
        found = [list(pair) for pair in link.targeting or () if link.targeting_type]
        for pair in self.pairs:
            at = next((i for i, other in enumerate(found) if self.is_same(pair, other)), len(found))
            found[at : at + 1] = [list(pair)]
        if len(found) > MAX_PAIRS:
            raise Invalid(
                FieldError(
                    _l(
                        "It would have %(number)s targeting lines; the limit is %(most)s.",
                        number=len(found),
                        most=MAX_PAIRS,
                    ),
                    "too_many",
                    "targeting",
                )
            )
        return {"targeting_type": self.type_, "targeting": found}

    def is_same(self, pair: Sequence[str], other: Sequence[str]) -> bool:
        """Whether one line takes the other's place: by its key, or where keys are weights its destination."""
        if TYPES[str(self.type_)].matcher is None:
            return pair[1] == other[1]
        return normalize(pair[0]) == normalize(other[0])

    def without_pairs(self, link: Link) -> dict[str, Any]:
        if link.targeting_type != self.type_:
            return {}
        left = [list(pair) for pair in link.targeting if not any(fits(pair, one) for one in self.pairs)]
        if len(left) == len(link.targeting):
            return {}
        return {"targeting_type": self.type_ if left else None, "targeting": left}


def fits(pair: Sequence[str], wanted: Sequence[str]) -> bool:
    key, to = wanted
    return (not key or normalize(key) == normalize(pair[0])) and (not to or to == pair[1])
