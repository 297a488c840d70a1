"""Form of projects; their creation, changes, deletion and lists."""

from __future__ import annotations

from typing import Any

from app.accounts.access import Access
from app.audit.services import Object, record
from app.core.clock import now
from app.core.database import reread
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.input.fields import ColorField
from app.input.forms import ResourceForm, TextField
from app.input.listing import Listing, contains
from app.projects.models import Project

COLOR = "#4263eb"


class ProjectForm(ResourceForm):
    """A project: a name and a colour."""

    name = TextField(_l("Name"), required=True, most=128)
    color = ColorField(_l("Colour"), clears_to=COLOR)


def create(access: Access, changes: dict[str, Any]) -> Project:
    """Create a project from `changes`: a name, perhaps a colour."""
    project = Project(**access.row_columns, **changes)
    db.session.add(project)
    db.session.flush()
    return project


def update(project: Project, changes: dict[str, Any]) -> Project:
    """Change what `changes` names. Raises NotFound when the project was deleted meanwhile."""
    reread(db.session, project)
    if not changes:
        return project  # nothing was edited, so the last edit was another one
    for name, value in changes.items():
        setattr(project, name, value)
    project.last_datetime = now()
    db.session.flush()
    return project


def delete(project: Project) -> None:
    """Delete it. Its links stay, without a project. Raises NotFound when it is gone already."""
    reread(db.session, project)
    record(
        db.session,
        "project.deleted",
        owner_id=project.user_id,
        on=Object("project", project.id, project.name),
    )
    db.session.delete(project)
    db.session.flush()


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
