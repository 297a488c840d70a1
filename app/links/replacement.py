"""Find and replace in a link's destinations: plain text, each result checked as the link form checks it."""

# see docs/decisions/2026-11-24-bulk-changes-undone-as-one.md
from __future__ import annotations

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

from app.core.errors import FieldError, Invalid
from app.core.urls import SCHEME, split_authority
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.input.parsers import Problem, Rejected
from app.links.destination import MAX_URL_LENGTH, DestinationRules
from app.links.models import Link

TARGETING = "targeting"
PLACES = ("location_url", TARGETING, "expiration_url")


class Replaced(NamedTuple):
    """One destination that changes. `key`: of its targeting pair. `problem`: why it can't be so."""

    name: str
    key: str
    before: str
    after: str
    problem: Problem | None


class Piece(NamedTuple):
    """A part of a destination, and whether it is what changes."""

    text: str
    is_changed: bool


@dataclass(frozen=True)
class Replacement:
    """What to find, and what to put there. `places`: the settings to look in."""

    find: str
    replace: str
    rules: DestinationRules
    places: Collection[str] = PLACES
    is_case_ignored: bool = False
    is_host_only: bool = False

    @cached_property
    def pattern(self) -> re.Pattern[str]:
        return re.compile(re.escape(self.find), re.IGNORECASE if self.is_case_ignored else 0)

    def spans(self, text: str) -> Iterator[tuple[int, int]]:
        start, end = host_range(text) if self.is_host_only else (0, len(text))
        return (match.span() for match in self.pattern.finditer(text, start, end))

    def apply(self, text: str) -> str:
        """The text with each find replaced. Raises Rejected where it gets too long, before it is made."""
        grown = sum(len(self.replace) - (end - start) for start, end in self.spans(text))
        if grown > 0 and len(text) + grown > MAX_URL_LENGTH:
            raise Rejected(
                _l(
                    "This may have at most %(most)s characters; it has %(number)s.",
                    most=lazy_digits(MAX_URL_LENGTH),
                    number=lazy_digits(len(text) + grown),
                ),
                "too_long",
            )
        return "".join(piece.text for piece in self.pieces(text, is_after=True))

    def pieces(self, text: str, *, is_after: bool) -> Iterator[Piece]:
        """The destination in parts, before or after the change."""
        last = 0
        for start, end in self.spans(text):
            yield Piece(text[last:start], False)
            yield Piece(self.replace if is_after else text[start:end], True)
            last = end
        yield Piece(text[last:], False)

    def replaced(self, link: Link) -> Iterator[Replaced]:
        """Each destination of the link that changes."""
        for name in PLACES:
            if name in self.places and name != TARGETING and (text := getattr(link, name)):
                yield from self.one(name, "", text)
        for key, text in link.targeting or () if TARGETING in self.places else ():
            yield from self.one(TARGETING, key, text)

    def one(self, name: str, key: str, before: str) -> Iterator[Replaced]:
        try:
            after = self.apply(before)
        except Rejected as rejected:
            yield Replaced(name, key, before, "", rejected.args[0])
            return
        if after != before:
            yield Replaced(name, key, before, after, self.problem_of(after))

    def problem_of(self, text: str) -> Problem | None:
        try:
            self.rules.check(text)
        except Rejected as rejected:
            problem: Problem = rejected.args[0]
            return problem
        return None

    def changes_of(self, link: Link) -> dict[str, Any]:
        """The changes for `services.update`. Raises Invalid with every result that can't be a destination."""
        replaced = list(self.replaced(link))
        wrong = [FieldError(one.problem.title, one.problem.code, one.name) for one in replaced if one.problem]
        if wrong:
            raise Invalid(*wrong)
        found: dict[str, Any] = {one.name: one.after for one in replaced if one.name != TARGETING}
        if any(one.name == TARGETING for one in replaced):
            found[TARGETING] = [[key, self.apply(text)] for key, text in link.targeting]
        return found


def host_range(text: str) -> tuple[int, int]:
    """Where the host and its port stand in an address; an empty range where it has none."""
    match = SCHEME.match(text)
    start = match.end() + 2 if match else 0
    if not match or not text.startswith("//", match.end()):
        return 0, 0
    authority, _ = split_authority(text[start:])
    return start + authority.rfind("@") + 1, start + len(authority)
