"""API of the key's workspace: its name, its members, and invitations into it."""

from __future__ import annotations

from collections.abc import Callable

from flask import Response

from app.accounts import member_invitations, workspaces
from app.accounts.access import OWNER, get_owned
from app.accounts.deletion import leaving
from app.accounts.forms import MemberForm, MemberInvitationForm, WorkspaceForm
from app.accounts.models import User, Workspace, WorkspaceInvitation
from app.accounts.workspaces import INVITATIONS, members_of
from app.api import envelope, present
from app.api.auth import authenticated_user, request_access, request_key
from app.api.blueprint import blueprint
from app.api.idempotency import Keep, answer_once
from app.api.resource import retry_once
from app.core.database import begin_write
from app.core.errors import FieldError, Forbidden
from app.core.extensions import db
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.input.listing import find_page
from app.notifications import system_email
from app.notifications.member_invitations import about_of, post_invitation
from app.notifications.security_email import MemberChange, SecurityMail, owners_of, tell_owners
from app.web import application, urls
from app.web.body import read_list_query, read_sent

JOIN = "/dashboard/join"  # the page where an invitation is accepted


def add(rule: str, method: str, name: str) -> Callable[[Callable[..., Response]], Callable[..., Response]]:
    return blueprint.route(rule, endpoint=name, methods=[method], strict_slashes=False)


@add("/workspace", "GET", "workspace_read")
def read() -> Response:
    return whole(request_key().workspace)


def whole(row: Workspace) -> Response:
    return envelope.json_response({"data": present.workspace(row, request_key().role)})


@add("/workspace", "POST", "workspace_update")
def update() -> Response:
    form = WorkspaceForm(read_sent(), owner=request_access(), stored=request_key().workspace)
    form.require_valid()
    begin_write(db.session)
    workspaces.hold(request_access().workspace_id)
    row = db.session.get_one(Workspace, request_access().workspace_id)
    workspaces.update_workspace(row, form.changes)
    answer = answer_to_write(row.id, lambda: whole(row))
    db.session.commit()
    return answer


def answer_to_write(id: int, represent: Callable[[], Response], status: int = 200) -> Response:
    """The answer to a write: the id, or the whole object where the request prefers that."""
    if not envelope.prefers_whole():
        return envelope.json_response({"data": {"id": id}}, status)
    answer = represent()
    answer.status_code = status
    answer.headers["Preference-Applied"] = "return=representation"
    return answer


# --- members


def owners() -> list[User]:
    return owners_of(request_access().workspace_id)


def tell(before: list[User], change: MemberChange) -> None:
    """Writes to those who were owners before the change, and to those who are now."""
    everybody = {user.id: user for user in (*before, *owners())}
    tell_owners(SecurityMail(db.session, application.settings()), request_key(), everybody.values(), change)


@add("/workspace/members", "GET", "workspace-members_find")
def find_members() -> Response:
    listing = members_of(request_access().workspace_id)
    page = find_page(listing, request_access().workspace_id, dict(read_list_query()))
    return envelope.listed(page, [present.member(row) for row in page.rows])


@add("/workspace/members/<row_id:id>", "GET", "workspace-members_read")
def read_member(id: int) -> Response:
    found = workspaces.get_member(request_access().workspace_id, id)
    return envelope.json_response({"data": present.member(found)})


@add("/workspace/members", "POST", "workspace-members_post")
def invite() -> Response:
    """Invites an address; the answer names the invitation. Once accepted, that address is a member."""
    sent = read_sent()
    return answer_once(request_access(), sent, lambda keep: retry_once(lambda: make_invitation(sent, keep)))


def make_invitation(sent: RequestData, keep: Keep) -> Response:
    form = checked(MemberInvitationForm(sent, owner=request_access()))
    begin_write(db.session)
    row, token = member_invitations.invite(request_access(), form.changes["email"], form.changes["role"])
    address = f"{urls.dashboard_site()}{JOIN}?token={token}"
    if application.settings().smtp_url:
        post_invitation(db.session, row, authenticated_user(), address)
    tell(owners(), MemberChange("invited", row.email, row.role))
    # the address of the invitation is in this one answer, for where no mail is sent
    shown = present.invitation(row) | {"url": address}
    answer = answer_to_write(row.id, lambda: envelope.json_response({"data": shown}), 201)
    answer.headers["Location"] = f"{urls.dashboard_site()}/api/workspace/invitations/{row.id}"
    keep(answer)
    db.session.commit()
    return answer


def checked(form: ResourceForm) -> ResourceForm:
    form.require_valid()
    return form


@add("/workspace/members/<row_id:id>", "POST", "workspace-members_update")
def change_member(id: int) -> Response:
    sent = read_sent()
    stored = workspaces.get_member(request_access().workspace_id, id)
    form = checked(MemberForm(sent, owner=request_access(), stored=stored))
    begin_write(db.session)
    row = workspaces.get_member(request_access().workspace_id, id)
    before, role = owners(), form.changes.get("role", row.role)
    if role != row.role:
        leaving.change_role(row, role)
        tell(before, MemberChange("role", row.user.email, role))
    answer = answer_to_write(row.id, lambda: envelope.json_response({"data": present.member(row)}))
    db.session.commit()
    return answer


@add("/workspace/members/<row_id:id>", "DELETE", "workspace-members_delete")
def remove_member(id: int) -> Response:
    begin_write(db.session)
    row, before = workspaces.get_member(request_access().workspace_id, id), owners()
    email = row.user.email
    leaving.remove_member(row)
    tell(before, MemberChange("removed", email))
    db.session.commit()
    return Response(status=204)


# --- invitations, which only owners see: they name addresses of people who are no members


@add("/workspace/invitations", "GET", "workspace-invitations_find")
def find_invitations() -> Response:
    require_owner()
    page = find_page(INVITATIONS, request_access().workspace_id, dict(read_list_query()))
    return envelope.listed(page, [present.invitation(row) for row in page.rows])


@add("/workspace/invitations/<row_id:id>", "GET", "workspace-invitations_read")
def read_invitation(id: int) -> Response:
    require_owner()
    row = get_owned(request_access(), WorkspaceInvitation, id)
    return envelope.json_response({"data": present.invitation(row)})


def require_owner() -> None:
    """A key that only reads may see them, too, where its user is an owner."""
    if request_key().role != OWNER:
        raise Forbidden(FieldError("Only owners of this workspace see its invitations.", "role"))


@add("/workspace/invitations/<row_id:id>", "DELETE", "workspace-invitations_delete")
def revoke_invitation(id: int) -> Response:
    begin_write(db.session)
    row = get_owned(request_access(), WorkspaceInvitation, id)
    system_email.withdraw(db.session, about_of(row))
    email = row.email
    member_invitations.revoke(row)
    tell(owners(), MemberChange("revoked", email))
    db.session.commit()
    return Response(status=204)
