"""Whose visits does a statistics page tell of: one link's, a project's, or all of them?"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from flask import url_for
from sqlalchemy import func, select

from app.accounts.models import User
from app.clicks import ledger
from app.clicks.statistics import Asked
from app.dashboard import pages
from app.dashboard.link_rows import short_address
from app.dashboard.statistics.periods import Span
from app.dashboard.statistics.state import VIEWS, State
from app.extensions import db
from app.links.models import Link
from app.ownership import get_owned
from app.projects.models import Project

ALL, LINK, PROJECT = "statistics", "links_statistics", "projects_statistics"


@dataclass(frozen=True)
class Scope:
    """`endpoint` is that of its page; `link_ids` None means all of the owner's links."""

    user: User
    endpoint: str
    title: str
    since: dt.datetime
    id: int | None = None
    link_ids: tuple[int, ...] | None = None
    link: Link | None = None
    project: Project | None = None

    def address(self, part: str = "", **query: str) -> str:
        """The page's, or that of a part of it."""
        values: dict[str, Any] = query if self.id is None else {**query, "id": self.id}
        if part:
            return url_for(f"dashboard.{self.endpoint}_part", part=part, **values)
        return url_for(f"dashboard.{self.endpoint}", **values)

    def address_of_list(self, name: str, **query: str) -> str:
        """Of all lines of one list."""
        values: dict[str, Any] = query if self.id is None else {**query, "id": self.id}
        return url_for(f"dashboard.{self.endpoint}_list", name=name, **values)

    def address_of_file(self, type: str, state: State) -> str:
        """Of the figures as CSV; how a part of the page shows them makes no difference there."""
        query = {name: value for name, value in state.query().items() if name not in VIEWS}
        return f"{self.address()}export.csv?{urlencode({'type': type, **query})}"

    def first(self, zone: dt.tzinfo) -> dt.date:
        """The day of the owner before which nothing can have been counted."""
        return self.since.astimezone(zone).date()

    def is_unvisited(self) -> bool:
        """Nothing has ever happened here."""
        if self.link_ids is None:
            return ledger.first_moment(db.session, self.user.id) is None
        return not ledger.has_visits(db.session, self.link_ids)

    def asked(self, state: State, type: str, span: Span | None = None, limit: int = 100) -> Asked:
        """The question behind a part of the page."""
        start, end = span or state.span
        return Asked(
            user_id=self.user.id,
            link_ids=self.link_ids,
            type=type,
            start=start,
            end=end,
            zone=pages.zone(),
            bots=state.bots,
            filters=state.filters,
            limit=limit,
        )


def everything(user: User) -> Scope:
    oldest = ledger.first_moment(db.session, user.id)
    return Scope(user, ALL, "All links", min(oldest or user.datetime, user.datetime))


def of_link(user: User, id: int) -> Scope:
    """Raises NotThere."""
    link = get_owned(user, Link, id)
    return Scope(user, LINK, short_address(link), link.datetime, id, (id,), link=link)


def of_project(user: User, id: int) -> Scope:
    """Raises NotThere."""
    project = get_owned(user, Project, id)
    mine = [Link.user_id == user.id, Link.project_id == id]
    ids = tuple(db.session.scalars(select(Link.id).where(*mine)))
    oldest = db.session.scalar(select(func.min(Link.datetime)).where(*mine))
    return Scope(user, PROJECT, project.name, oldest or project.datetime, id, ids, project=project)


def others(scope: Scope) -> list[tuple[str, str, str]]:
    """Where else one can look: (address, words, colour), first everything, then each project."""
    owned = select(Project).where(Project.user_id == scope.user.id).order_by(Project.name, Project.id)
    return [
        (url_for("dashboard.statistics"), "All links", ""),
        *(
            (url_for("dashboard.projects_statistics", id=project.id), project.name, project.color)
            for project in db.session.scalars(owned.limit(100))
        ),
    ]
