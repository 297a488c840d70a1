"""The search and sort orders of the list of projects."""

from __future__ import annotations

from app.input.listing import Listing, contains
from app.projects.models import Project

LISTING = Listing(
    model=Project,
    filters={"search": lambda text, params: contains(text, Project.name)},  # noqa: ARG005
    orders={
        "project_id": Project.id,
        "datetime": Project.datetime,
        "last_datetime": Project.last_datetime,
        "name": Project.name,
    },
)
