"""Pages that create, delete and restore workspaces."""

from __future__ import annotations

from flask import Response, url_for
from flask.typing import ResponseReturnValue

from app.accounts import workspaces
from app.accounts.deletion import workspace as deletion
from app.accounts.models import User, Workspace
from app.accounts.workspace_forms import DeleteWorkspaceForm, WorkspaceForm
from app.core.database import begin_write
from app.core.extensions import db
from app.dashboard.auth import proofs
from app.dashboard.auth.access import signed_in_user, submitted_form
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import current_access, workspace_id
from app.i18n.messages import gettext as _

FOLDER = "dashboard/members"


@blueprint.post("/workspaces/new", endpoint="workspaces_new")
def create() -> ResponseReturnValue:
    form = WorkspaceForm(submitted_form(), owner=None)
    form.require_valid()
    begin_write(db.session)
    row = workspaces.create(db.session.get_one(User, signed_in_user().id), form.changes["name"])
    workspaces.note_created(row)
    db.session.commit()
    message = _("The workspace is there. Invite members to it.")
    return rendering.redirect_with(message, page_of(row))


def page_of(row: Workspace) -> str:
    return url_for("dashboard.workspace", workspace_in_address=row.id)


@blueprint.get("/workspace/delete", endpoint="workspace_delete")
def ask_delete() -> ResponseReturnValue:
    return delete_page(DeleteWorkspaceForm(None, owner=this_one()))


def this_one() -> Workspace:
    return db.session.get_one(Workspace, workspace_id())


def delete_page(form: DeleteWorkspaceForm, problem: str = "", status: int = 200) -> Response:
    return rendering.render_page(
        f"{FOLDER}/page_of.html",
        f"{FOLDER}/_delete.html",
        status=status,
        here="workspace",
        workspace=form.owner,
        form=form,
        problem=problem,
        heading=_("Delete this workspace?"),
    )


@blueprint.post("/workspace/delete", endpoint="workspace_delete_write")
def delete() -> ResponseReturnValue:
    """Delete the workspace. Needs its name and the password: an open session is not enough."""
    form = DeleteWorkspaceForm(submitted_form(), owner=this_one())
    proofs.validate_with_password(form, "own_password")
    if form.problems:
        return delete_page(form, status=proofs.status_of(form))
    begin_write(db.session)
    try:
        row = deletion.delete_workspace(current_access())
    except deletion.OnlyWorkspace as refused:
        db.session.rollback()
        return delete_page(form, refused.errors[0].title, 409)
    until = deletion.gone_from(row)
    message = _(
        "%(name)s is deleted. Until %(until)s its owners can restore it.",
        name=row.name,
        until=f"{until:%Y-%m-%d}",
    )
    db.session.commit()
    return rendering.leave_page(message, "/dashboard/")


@blueprint.post("/workspaces/<int:id>/restore", endpoint="workspaces_restore")
def restore(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    row = deletion.restore_workspace(db.session.get_one(User, signed_in_user().id), id)
    db.session.commit()
    return rendering.redirect_with(_("%(name)s is restored.", name=row.name), page_of(row))
