"""Scope of a statistics page: one link, one project, or all links of the owner."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from flask import url_for
from sqlalchemy import func, select
from sqlalchemy.orm import joinedload

from app.accounts.access import Access, get_owned
from app.analytics.readers import first_moment, reader_of
from app.analytics.statistics import StatisticsQuery
from app.core.extensions import db
from app.dashboard.links.rows import short_address
from app.dashboard.statistics.periods import Span
from app.dashboard.statistics.state import VIEWS, PageState
from app.i18n.messages import gettext as _
from app.links.models import Link
from app.projects.models import Project

ALL, LINK, PROJECT = "statistics", "links_statistics", "projects_statistics"


@dataclass(frozen=True)
class PageScope:
    """The links of a page. `endpoint` is the page's; `link_ids` None means all of the owner's links."""

    access: Access
    endpoint: str
    title: str
    since: dt.datetime
    id: int | None = None
    link_ids: tuple[int, ...] | None = None
    link: Link | None = None
    project: Project | None = None

    @property
    def zone(self) -> ZoneInfo:
        """The time zone of the days: the owner's."""
        return ZoneInfo(self.access.user.timezone)

    def address(self, part: str = "", **query: str) -> str:
        """The address of the page, or of a part of it."""
        values: dict[str, Any] = query if self.id is None else {**query, "id": self.id}
        if part:
            return url_for(f"dashboard.{self.endpoint}_part", part=part, **values)
        return url_for(f"dashboard.{self.endpoint}", **values)

    def address_of_list(self, name: str, **query: str) -> str:
        """The address of the page with all lines of one breakdown."""
        values: dict[str, Any] = query if self.id is None else {**query, "id": self.id}
        return url_for(f"dashboard.{self.endpoint}_list", name=name, **values)

    def address_of_file(self, type: str, state: PageState) -> str:
        """The address of the figures as CSV, without the views, which make no difference there."""
        query = {name: value for name, value in state.query().items() if name not in VIEWS}
        return f"{self.address()}export.csv?{urlencode({'type': type, **query})}"

    def first(self, zone: dt.tzinfo) -> dt.date:
        """The first day, in the owner's time zone, on which a click can have been counted."""
        return self.since.astimezone(zone).date()

    def is_unvisited(self) -> bool:
        """Whether no click has ever been counted here."""
        if self.link_ids is None:
            return first_moment(db.session, self.access.workspace_id) is None
        ids = self.link_ids
        return not reader_of(db.session).has_visits(ids)

    def statistics_query(
        self, state: PageState, type: str, span: Span | None = None, limit: int = 100
    ) -> StatisticsQuery:
        """The statistics query behind a part of the page."""
        start, end = span or state.span
        return StatisticsQuery(
            workspace_id=self.access.workspace_id,
            link_ids=self.link_ids,
            type=type,
            start=start,
            end=end,
            zone=self.zone,
            bots=state.bots,
            filters=state.filters,
            limit=limit,
        )


def all_links_scope(access: Access) -> PageScope:
    oldest = first_moment(db.session, access.workspace_id)
    since = access.user.datetime
    return PageScope(access, ALL, _("All links"), min(oldest or since, since))


def of_link(access: Access, id: int) -> PageScope:
    """Raises NotFound."""
    link = get_owned(access, Link, id)
    return PageScope(access, LINK, short_address(link), link.datetime, id, (id,), link=link)


def of_project(access: Access, id: int) -> PageScope:
    """Raises NotFound."""
    project = get_owned(access, Project, id)
    mine = [Link.workspace_id == access.workspace_id, Link.project_id == id]
    ids = tuple(db.session.scalars(select(Link.id).where(*mine)))
    oldest = db.session.scalar(select(func.min(Link.datetime)).where(*mine))
    return PageScope(access, PROJECT, project.name, oldest or project.datetime, id, ids, project=project)


def other_scopes(scope: PageScope) -> list[tuple[str, str, str]]:
    """The other scopes to choose from as (address, words, colour): all links, then each project."""
    owned = (
        select(Project)
        .where(Project.workspace_id == scope.access.workspace_id)
        .order_by(Project.name, Project.id)
    )
    return [
        (url_for("dashboard.statistics"), _("All links"), ""),
        *(
            (url_for("dashboard.projects_statistics", id=project.id), project.name, project.color)
            for project in db.session.scalars(owned.limit(100))
        ),
    ]


def links_of(ids: set[int]) -> dict[int, Link]:
    """The links that still exist, with their domains."""
    wanted = select(Link).where(Link.id.in_(ids)).options(joinedload(Link.domain))
    return {link.id: link for link in db.session.scalars(wanted)}
