"""How far back filters reach, and what pages say of it before a filter or a period is chosen.

Single clicks are deleted after a time, and roll-ups know one filter only: by day, and by its own dimension.
"""

from __future__ import annotations

import datetime as dt
from typing import NamedTuple

from app.analytics.periods import QUARTERS, day_number, midnight, start_of_quarter
from app.analytics.readers import reader_of
from app.core.extensions import db
from app.dashboard.statistics import figures
from app.dashboard.statistics.periods import Day, Span
from app.dashboard.statistics.scopes import PageScope
from app.dashboard.statistics.state import PageState
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
