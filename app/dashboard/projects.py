"""Pages of projects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

from app.dashboard.links.rows import totals_by
from app.dashboard.shared.crud_views import Context, CrudViews, FamilyWords, crud_route
from app.dashboard.shared.words import words_for
from app.i18n.messages import lazy_gettext as _l
from app.links.models import Link
from app.projects import services
from app.projects.models import Project
from app.projects.services import COLOR, LISTING, ProjectForm

# offered for one click; any other colour can be typed
PALETTE = ("#4263eb", "#0b7285", "#2b8a3e", "#e67700", "#c92a2a", "#a61e4d", "#862e9c", "#495057")


@crud_route("/projects/", "list")
@crud_route("/projects/new", "new")
@crud_route("/projects/<int:id>", "edit")
@crud_route("/projects/<int:id>/delete", "delete")
class ProjectViews(CrudViews):
    """The pages of projects."""

    name = "projects"
    title = _l("Projects")
    intro = _l("Links that belong together, under a name and a colour.")
    search_hint = _l("Search by name")
    words = FamilyWords(**words_for("families")[name])
    loss = _l("Its links stay and keep working, without a project.")
    model, form, services, listing = Project, ProjectForm, services, LISTING
    new: ClassVar = {"color": COLOR}

    def form_context(self, form: Any) -> Context:  # noqa: ARG002  as in CrudViews
        return {"palette": PALETTE}

    def rows_context(self, rows: Sequence[Project]) -> Context:
        return {"totals": totals_by(Link.project_id, [row.id for row in rows])}


FAMILY = ProjectViews.register()
