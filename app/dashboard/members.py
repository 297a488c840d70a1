"""Pages of a workspace: its members, invitations into it, its creation and deletion.

Who lets somebody in, makes a member owner or removes one is asked for the password again.
"""

from __future__ import annotations

from collections.abc import Collection

from flask import Response, flash, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue

from app.accounts import member_invitations, workspaces
from app.accounts.access import EDITOR, OWNER, ROLES, get_owned
from app.accounts.deletion import leaving
from app.accounts.deletion import leaving as deletion
from app.accounts.deletion.leaving import deleted_workspaces, gone_from
from app.accounts.forms import DeleteWorkspaceForm, MemberForm, MemberInvitationForm, WorkspaceForm
from app.accounts.models import User, Workspace, WorkspaceInvitation, WorkspaceMember
from app.core.database import begin_write
from app.core.errors import Invalid, RateLimited
from app.core.extensions import db
from app.dashboard.auth import reauthentication
from app.dashboard.auth.access import signed_in_user, submitted_form
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import current_access, may, workspace_id
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.notifications import system_email
from app.notifications.member_invitations import about_of, post_invitation
from app.web import application, urls
from app.web.body import read_list_query

FOLDER = "dashboard/members"
KINDS = {
    leaving.HANDLERS: _l("Notification handlers"),
    leaving.SUBSCRIPTIONS: _l("Subscriptions"),
    leaving.SHARES: _l("Share addresses"),
}


@blueprint.get("/workspace/", endpoint="workspace")
def show() -> ResponseReturnValue:
    return render_page()


def render_page(
    naming: WorkspaceForm | None = None, inviting: MemberInvitationForm | None = None, address: str = ""
) -> Response:
    """The members; for owners with the forms. `address`: of an invitation just made, shown this once."""
    access = current_access()
    row = db.session.get_one(Workspace, access.workspace_id)
    status = 422 if (naming and naming.problems) or (inviting and inviting.problems) else 200
    body = render_template(
        f"{FOLDER}/list.html",
        here="workspace",
        workspace=row,
        members=workspaces.members(row.id),
        invitations=member_invitations.open_ones(access) if may("write_workspace") else (),
        naming=naming or WorkspaceForm(None, owner=access, stored=row),
        inviting=inviting or MemberInvitationForm(None, owner=access, data={"role": EDITOR}),
        role_form=MemberForm(None, owner=access),
        address=address,
        roles=list(ROLES.items()),
        deleted=deleted_workspaces(signed_in_user()),
        ends_of=gone_from,
        zone=rendering.owner_zone(),
    )
    return Response(body, status)


@blueprint.post("/workspace/rename", endpoint="workspace_rename")
def rename() -> ResponseReturnValue:
    row = db.session.get_one(Workspace, workspace_id())
    form = WorkspaceForm(submitted_form(), owner=current_access(), stored=row)
    if not form.validate():
        return render_page(naming=form)
    begin_write(db.session)
    workspaces.hold(row.id)
    workspaces.update_workspace(row, form.changes)
    db.session.commit()
    return back(_("The name is saved."))


def ask_invite() -> ResponseReturnValue:
    form = MemberInvitationForm(submitted_form(), owner=current_access())
    form.validate()
    return render_page(inviting=form)


@blueprint.post("/workspace/invite", endpoint="workspace_invite")
@reauthenticated(ask_invite)
def invite() -> ResponseReturnValue:
    """Invite an address. The one-time link is in this one answer, and in the mail if one is sent."""
    form = MemberInvitationForm(submitted_form(), owner=current_access())
    if not form.validate():
        return render_page(inviting=form)
    begin_write(db.session)
    try:
        row, token = member_invitations.invite(current_access(), form.changes["email"], form.changes["role"])
    except (Invalid, RateLimited) as refused:
        db.session.rollback()
        form.reject("email", refused.errors[0].title, refused.errors[0].code)
        return render_page(inviting=form)
    address = f"{urls.dashboard_site()}{url_for('dashboard.join')}?token={token}"
    if application.settings().smtp_url:
        post_invitation(db.session, row, signed_in_user(), address)
    db.session.commit()
    return render_page(address=address)


@blueprint.post("/workspace/invitations/<int:id>/revoke", endpoint="workspace_revoke")
def revoke(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    row = get_owned(current_access(), WorkspaceInvitation, id)
    system_email.withdraw(db.session, about_of(row))
    member_invitations.revoke(row)
    db.session.commit()
    return back(_("The invitation is revoked."))


def makes_owner() -> bool:
    return submitted_form().text("role") == OWNER


def ask_role(id: int) -> ResponseReturnValue:
    """The form with the password that makes a member owner."""
    body = render_template(
        f"{FOLDER}/page_of.html",
        fragment=f"{FOLDER}/_again.html",
        in_dialog=False,
        here="workspace",
        heading=_("Make this member owner?"),
        meaning=_("Owners do everything here: they can remove you, too."),
        member=workspaces.get_member(workspace_id(), id),
        action=request.path,
    )
    return Response(body)


@blueprint.get("/workspace/members/<int:id>/remove", endpoint="workspace_remove")
def ask_removal(id: int) -> ResponseReturnValue:
    """Ask before a member is removed, and what of the member's is to be switched off."""
    member = workspaces.get_member(workspace_id(), id)
    return rendering.render_page(
        f"{FOLDER}/page_of.html",
        f"{FOLDER}/_remove.html",
        here="workspace",
        heading=_("Remove this member?"),
        member=member,
        outgoing=leaving.outgoing(member.workspace_id, member.user_id),
        kinds=KINDS,
        kept=kept_kinds(),
    )


def kept_kinds() -> set[str]:
    """The kinds that the form showed and that were not ticked to be switched off."""
    if request.method != "POST":
        return set()
    sent = submitted_form()
    shown, off = ({str(value) for _, value in sent.members(name)} for name in ("shown", "off"))
    return shown - off


@blueprint.post("/workspace/members/<int:id>/role", endpoint="workspace_role")
@reauthenticated(ask_role, needs=makes_owner)
def change_role(id: int) -> ResponseReturnValue:
    member = workspaces.get_member(workspace_id(), id)
    form = MemberForm(submitted_form(), owner=current_access(), stored=member)
    form.require_valid()
    begin_write(db.session)
    member = workspaces.get_member(workspace_id(), id)
    try:
        leaving.change_role(member, form.changes.get("role", member.role))
    except workspaces.LastOwner as refused:
        return back_with(refused)
    db.session.commit()
    return back(_("The role is changed."))


@blueprint.post("/workspace/members/<int:id>/remove", endpoint="workspace_remove_write")
@reauthenticated(ask_removal)
def remove(id: int) -> ResponseReturnValue:
    return end(workspaces.get_member(workspace_id(), id), _("The member is removed."), kept_kinds())


@blueprint.post("/workspace/leave", endpoint="workspace_leave")
def leave() -> ResponseReturnValue:
    own = next(one for one in workspaces.members(workspace_id()) if one.user_id == signed_in_user().id)
    return end(own, _("You have left the workspace."))


def end(member: WorkspaceMember, message: str, kept: Collection[str] = ()) -> ResponseReturnValue:
    is_own = member.user_id == signed_in_user().id
    begin_write(db.session)
    try:
        heir = None if is_own else signed_in_user()
        leaving.remove_member(workspaces.get_member(workspace_id(), member.id), kept, heir)
    except workspaces.LastOwner as refused:
        return back_with(refused)
    db.session.commit()
    if is_own:  # the page would not be there any more
        flash(message, "message")
        return redirect("/dashboard/", 303)
    return back(message)


def back(message: str) -> ResponseReturnValue:
    return rendering.redirect_with(message, url_for("dashboard.workspace"))


def back_with(refused: workspaces.LastOwner) -> ResponseReturnValue:
    db.session.rollback()
    return rendering.redirect_with("", url_for("dashboard.workspace"), warning=str(refused.errors[0].title))


# --- pages of who is invited


@blueprint.get("/join", endpoint="join")
def ask_join() -> ResponseReturnValue:
    """The invitation, for whoever is signed in. Raises NotFound for one that is used, revoked or expired."""
    token = dict(read_list_query()).get("token", "")
    row = member_invitations.find(token)
    return Response(
        render_template(
            f"{FOLDER}/join.html",
            workspace=row.workspace,
            role=ROLES[row.role],
            email=row.email,
            token=token,
            is_own=signed_in_user().is_own_address(row.email),
        )
    )


@blueprint.post("/join", endpoint="join_write")
def join() -> ResponseReturnValue:
    begin_write(db.session)
    user = db.session.get_one(User, signed_in_user().id)
    member = member_invitations.accept(submitted_form().text("token"), user)
    db.session.commit()
    message = _("You are a member of %(workspace)s.", workspace=member.workspace.name)
    to = url_for("dashboard.links", workspace_in_address=member.workspace_id)
    return rendering.redirect_with(message, to)


# --- create, delete and restore workspaces


@blueprint.post("/workspaces/new", endpoint="workspaces_new")
def create_workspace() -> ResponseReturnValue:
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
def ask_delete_workspace() -> ResponseReturnValue:
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
def delete_workspace() -> ResponseReturnValue:
    """Delete the workspace. Needs its name and the password: an open session is not enough."""
    form = DeleteWorkspaceForm(submitted_form(), owner=this_one())
    reauthentication.validate_with_password(form, "own_password")
    if form.problems:
        return delete_page(form, status=reauthentication.status_of_proof(form))
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
def restore_workspace(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    row = deletion.restore_workspace(db.session.get_one(User, signed_in_user().id), id)
    db.session.commit()
    return rendering.redirect_with(_("%(name)s is restored.", name=row.name), page_of(row))
