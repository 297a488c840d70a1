"""Click filters: which of a workspace's clicks a handler is told of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

MAX_EVERY = 1_000_000

Click = Mapping[str, Any]  # the data of an event `link.clicked`


@dataclass(frozen=True)
class ClickFilter:
    """Clicks of people, or of bots; from some countries, or from anywhere; of these each nth of a link, or
    its first one alone."""

    countries: tuple[str, ...] = ()
    is_bot: bool = False
    every: int = 1
    first: bool = False

    @classmethod
    def of(cls, stored: Mapping[str, Any] | None) -> ClickFilter:
        """The filter that a handler has stored; None is the default one."""
        known = stored or {}
        return cls(
            countries=tuple(known.get("countries") or ()),
            is_bot=bool(known.get("is_bot")),
            every=int(known.get("every") or 1),
            first=bool(known.get("first")),
        )

    def as_object(self) -> dict[str, Any]:
        """The filter as it is stored, and as the API shows it."""
        return {
            "countries": list(self.countries) or None,
            "is_bot": self.is_bot,
            "every": self.every,
            "first": self.first,
        }

    @property
    def counts(self) -> bool:
        """Whether a click's number among those of its link decides."""
        return self.first or self.every > 1

    def takes(self, click: Click) -> bool:
        """Whether a click passes, whatever its number is."""
        return click["is_bot"] == self.is_bot and (
            not self.countries or click["country_code"] in self.countries
        )

    def takes_number(self, number: int) -> bool:
        """Whether the click with this number among those of its link passes, counted from 1."""
        return number == 1 if self.first else number % self.every == 0

    def select(self, clicks: Iterable[Click], numbers: dict[int, int]) -> list[Click]:
        """The clicks that pass, in their order.

        `numbers`: how many clicks of each link have passed `takes` so far. It is brought up to date where
        numbers decide; of a first click alone no more than that is counted.
        """
        found = [click for click in clicks if self.takes(click)]
        if not self.counts:
            return found
        chosen = []
        for click in found:
            link_id = click["link"]["id"]
            number = numbers.get(link_id, 0) + 1
            numbers[link_id] = min(number, 2) if self.first else number
            if self.takes_number(number):
                chosen.append(click)
        return chosen


EVERY_CLICK = ClickFilter()
