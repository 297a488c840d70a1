"""How does an owner sort links into projects?"""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint

from app.dashboard.family import Context, Family
from app.links.models import Link
from app.links.totals import totals_by
from app.projects import services
from app.projects.forms import COLOR, ProjectForm
from app.projects.lists import LISTING
from app.projects.models import Project

# to choose from in one click; any other colour may be had as well
PALETTE = ("#4263eb", "#0b7285", "#2b8a3e", "#e67700", "#c92a2a", "#a61e4d", "#862e9c", "#495057")


def register(blueprint: Blueprint) -> None:
    FAMILY.register(blueprint)


def beside_rows(rows: Sequence[Project]) -> Context:
    return {"totals": totals_by(Link.project_id, [row.id for row in rows])}


FAMILY = Family(
    name="projects",
    one="project",
    many="projects",
    title="Projects",
    intro="Links that belong together, under a name and a colour.",
    search_hint="Search by name",
    loss="Its links stay and go on working, without a project.",
    model=Project,
    form=ProjectForm,
    services=services,
    listing=LISTING,
    title_of=lambda project: str(project.name),
    beside_form=lambda form: {"palette": PALETTE},  # noqa: ARG005
    beside_rows=beside_rows,
    new={"color": COLOR},
)
