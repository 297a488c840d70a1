"""Menus of a statistics page, with the address of each choice."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from app.dashboard.statistics import figures, periods, scopes, words
from app.dashboard.statistics.periods import MENU, WITHOUT_BEFORE
from app.dashboard.statistics.reach import FilterReach
from app.dashboard.statistics.scopes import PageScope
from app.dashboard.statistics.state import COMPARE, OFF, PREVIOUS, PageState
from app.i18n import dated
from app.i18n.messages import gettext as _

OF_PERIOD = {"period", "date", "start_date", "end_date"}


class MenuItem(NamedTuple):
    """A line of a menu; `key` is the letter that chooses it. `note`: what to know before choosing it.

    Without an address it can't be chosen.
    """

    title: str
    address: str
    is_chosen: bool = False
    key: str = ""
    note: str = ""


class Filter(NamedTuple):
    """A filter that is on, and the page without it."""

    label: str
    value: str
    without: str


def menus(scope: PageScope, state: PageState, reach: FilterReach | None) -> dict[str, Any]:

    def address(other: PageState) -> str:
        return scope.address(**other.query())

    earlier, later = state.stepped(-1), state.stepped(1)
    return {
        "periods": [[period_item(scope, state, choice, reach) for choice in group] for group in MENU],
        "period_title": title(state),
        "earlier": address(earlier) if earlier and not is_closed(reach, earlier) else "",
        "earlier_note": reach.note(earlier.span) if reach and earlier else "",
        "later": address(later) if later else "",
        "compare": compare_items(scope, state),
        "who": [
            MenuItem(_("People"), address(replace(state, bots=False)), not state.bots),
            MenuItem(_("Bots"), address(replace(state, bots=True)), state.bots),
        ],
        "applied": [
            Filter(words.WORDS[name].one, words.word(name, value), address(state.without_filter(name)))
            for name, value in state.filters.items()
        ],
        "without_filters": address(replace(state, filters={})),
        "others": scopes.other_scopes(scope) if not scope.link else [],
        "hidden": [pair for pair in state.query().items() if pair[0] not in OF_PERIOD],
    }


def period_item(
    scope: PageScope, state: PageState, choice: periods.PeriodChoice, reach: FilterReach | None
) -> MenuItem:
    there = state.in_period(choice.period, periods.date_of(choice, state.today))
    is_chosen = (there.period, there.span) == (state.period, state.span)
    address = "" if is_closed(reach, there) else scope.address(**there.query())
    return MenuItem(choice.title, address, is_chosen, choice.key, reach.note(there.span) if reach else "")


def is_closed(reach: FilterReach | None, state: PageState) -> bool:
    return reach is not None and reach.closes(state.span, reach.filters)


def title(state: PageState) -> str:
    """Label of the menu's button: the words of the chosen entry, else the days."""
    for choice in (choice for group in MENU for choice in group):
        there = state.in_period(choice.period, periods.date_of(choice, state.today))
        if (there.period, there.span) == (state.period, state.span):
            return choice.title
    if state.period == "month":
        return dated(state.span.start, "MMMM y")
    return str(state.span.start.year) if state.period == "year" else figures.span_words(state.span)


def compare_items(scope: PageScope, state: PageState) -> Sequence[MenuItem]:
    """Empty where nothing can be compared. One key turns the comparison off and on again."""
    if state.period in WITHOUT_BEFORE:
        return ()
    key_for = PREVIOUS if state.compare == OFF else OFF
    return [
        MenuItem(
            text,
            scope.address(**replace(state, compare=way).query()),
            way == state.compare,
            "X" if way == key_for else "",
        )
        for way, text in COMPARE.items()
    ]
