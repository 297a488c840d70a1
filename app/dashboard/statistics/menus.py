"""Menus of a statistics page, with the address of each choice, and how far back filters reach.

Single clicks are deleted after a time, and roll-ups know one filter only: by day, and by its own dimension.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from app.analytics.periods import QUARTERS, day_number, midnight, start_of_quarter
from app.analytics.readers import reader_of
from app.core.extensions import db
from app.dashboard.statistics import figures, periods, scopes
from app.dashboard.statistics.periods import MENU, WITHOUT_BEFORE, Day, Span
from app.dashboard.statistics.scopes import PageScope
from app.dashboard.statistics.state import COMPARE, OFF, PREVIOUS, PageState
from app.i18n import dated
from app.i18n.messages import gettext as _


class FilterReach(NamedTuple):
    """`since`: the first day whose single clicks all exist. `filters`: how many are on."""

    since: dt.date
    filters: int

    @property
    def day(self) -> str:
        return figures.day_words(self.since)

    def is_cut(self, span: Span) -> bool:
        """Whether filters know only some of these days, or none."""
        return span.start < self.since

    def is_none(self, span: Span) -> bool:
        return span.end < self.since

    def closes(self, span: Span, filters: int) -> bool:
        """Whether that many filters show nothing of a period. One shows days, but not the hours of a day."""
        return self.is_none(span) and (filters > 1 or (filters == 1 and span.days == 1))

    def note(self, span: Span) -> str:
        """What the menu says of a period, with the filters that are on. "" where all is known."""
        if not self.filters or not self.is_cut(span):
            return ""
        if self.closes(span, self.filters):
            return _("not with filters")
        if self.is_none(span):
            return _("totals only")
        return _("from %(day)s", day=self.day) if self.filters > 1 else _("lists from %(day)s", day=self.day)

    def notice(self, span: Span) -> str:
        """What the page says of its own period. With two filters the overview says which days it covers."""
        if self.filters > 1 or not self.is_cut(span):
            return ""
        if self.closes(span, 1):
            return _("Single clicks of this day are no longer kept: it can't be filtered.")
        if self.is_none(span):
            return (
                _(
                    "Single clicks of these days are no longer kept. "
                    "With this filter, only clicks and visitors over time are known."
                )
                if self.filters
                else _(
                    "Single clicks of these days are no longer kept. "
                    "A filter shows clicks and visitors over time, and nothing else."
                )
            )
        return self.notice_of_part()

    def notice_of_part(self) -> str:
        if self.filters:
            return _(
                "Clicks and visitors over time cover the whole period. Other lists with this filter, and "
                "everything with a second one, begin on %(day)s: older single clicks are no longer kept.",
                day=self.day,
            )
        return _(
            "Filters reach back to %(day)s: single clicks from before are no longer kept. "
            "With one filter, clicks and visitors over time still cover the whole period.",
            day=self.day,
        )

    def part_note(self, span: Span) -> str:
        """What a list says that filters cut."""
        if not self.filters or not self.is_cut(span):
            return ""
        return (
            _("Single clicks of these days are no longer kept.")
            if self.is_none(span)
            else _("From %(day)s", day=self.day)
        )


def find_reach(scope: PageScope, state: PageState) -> FilterReach | None:
    """How far back filters reach; None where all single clicks are kept."""
    last = (day_number(state.today) + 2) * QUARTERS
    pruned = reader_of(db.session).last_pruned(scope.access.workspace_id, 0, last)
    if pruned is None:
        return None
    quarter = (pruned + 1) * QUARTERS
    since = start_of_quarter(quarter, scope.zone).date()
    return FilterReach(since if midnight(since, scope.zone) >= quarter else since + Day, len(state.filters))


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
            Filter(figures.WORDS[name].one, figures.word(name, value), address(state.without_filter(name)))
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
