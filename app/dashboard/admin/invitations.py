"""Invitations: an admin creates and revokes them, and the invited person creates the account."""

from __future__ import annotations

from flask import Response, make_response, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from app.accounts import invitations, passwords, services
from app.accounts.access import MAX_ID
from app.accounts.forms import InvitationForm, NewUserForm
from app.accounts.invitations import InvitationClosed
from app.accounts.models import Invitation, User
from app.core.clock import format_utc
from app.core.database import begin_write, reread
from app.core.errors import NotFound
from app.core.extensions import db
from app.dashboard.admin.users import FOLDER, show_list_again
from app.dashboard.auth import sessions
from app.dashboard.auth.access import admins_only, has_mail, is_shown_again, signed_in_user, submitted_form
from app.dashboard.auth.login import blueprint as accounts
from app.dashboard.auth.login import submitted_text
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.auth.single_sign_on import require_passwords
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _
from app.notifications import system_email
from app.notifications.addresses import name_without_addresses
from app.web import urls

STATUS = {invitations.UNKNOWN: 404}


# --- pages of the admin


@blueprint.get("/users/invitations/new", endpoint="invitations_new")
@admins_only
def ask_new() -> ResponseReturnValue:
    return form_page(InvitationForm(None, owner=signed_in_user()))


def ask_new_again() -> ResponseReturnValue:
    """The form again, with what was typed: the password was missing or wrong."""
    return form_page(InvitationForm(submitted_form(), owner=signed_in_user()))


def form_page(form: InvitationForm, status: int = 200) -> Response:
    return render_page("invite", status, form=form, has_mail=has_mail(), heading=_("Invite a user"))


@blueprint.post("/users/invitations/new", endpoint="invitations_new_write")
@admins_only
@reauthenticated(ask_new_again)
def create() -> ResponseReturnValue:
    """The address is in this one answer (and in the mail, if one is sent), and nowhere else."""
    if is_shown_again():
        return ask_new_again()
    form = InvitationForm(submitted_form(), owner=signed_in_user())
    if form.validate() and form.email.data and services.find_user(form.email.data):
        form.reject("email", _("There is an account with this e-mail address already."), "taken")
    if form.problems:
        return form_page(form, 422)
    begin_write(db.session)
    row, token = invitations.invite(
        signed_in_user(), email=form.email.data or "", is_admin=bool(form.is_admin.data)
    )
    address = urls.dashboard_site() + url_for("accounts.invited", token=token)
    is_mailed = bool(row.email) and has_mail() and not system_email.has_enough(db.session, row.email)
    if is_mailed:
        system_email.enqueue(
            db.session,
            signed_in_user().id,
            about_of(row),
            row.email,
            email_content(row, address),
            row.expires_datetime,
        )
    db.session.commit()
    response = render_page(
        "invited", row=row, address=address, is_mailed=is_mailed, zone=rendering.owner_zone(),
        heading=_("The invitation"),
    )  # fmt: skip
    response.headers["HX-Trigger"] = "users-changed"
    return response


def about_of(row: Invitation) -> str:
    return f"invitation:{row.id}"


def email_content(row: Invitation, address: str) -> system_email.Content:
    """The mail, in the language of the admin who invites: the recipient's is not known."""
    who = name_without_addresses(signed_in_user().name)
    until = format_utc(row.expires_datetime)
    return system_email.Content(
        title=_("%(who)s invites you to Waypost", who=who) if who else _("You are invited to Waypost"),
        text=_("Create your account with the link below. It works once, until %(until)s UTC.", until=until),
        url=address,
        button=_("Create your account"),
        language=signed_in_user().language,
    )


@blueprint.get("/users/invitations/<int:id>/revoke", endpoint="invitations_revoke")
@admins_only
def ask_revoke(id: int) -> ResponseReturnValue:
    return render_page(
        "revoke", row=find(id), zone=rendering.owner_zone(), heading=_("Revoke this invitation?")
    )


def find(id: int) -> Invitation:
    row = db.session.get(Invitation, id) if 0 < id <= MAX_ID else None
    if row is None or row.used_datetime is not None:
        raise NotFound("invitation")
    return row


@blueprint.post("/users/invitations/<int:id>/revoke", endpoint="invitations_revoke_write")
@admins_only
def revoke(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    row = find(id)
    reread(db.session, row)
    invitations.revoke(row)
    system_email.withdraw(db.session, about_of(row))
    db.session.commit()
    return show_list_again(_("The invitation is revoked."))


def render_page(name: str, status: int = 200, **context: object) -> Response:
    return rendering.render_in(FOLDER, name, status, here="users", **context)


# --- pages of the invited person


@accounts.get("/setup/invitation")
def invited() -> ResponseReturnValue:
    try:
        row = invitations.find(submitted_text("token"))
    except InvitationClosed as over:
        return over_page(over)
    return invited_page(NewUserForm(None, owner=None), row.email)


@accounts.post("/setup/invitation")
def accept() -> ResponseReturnValue:
    require_passwords()
    try:
        row = invitations.find(submitted_text("token"))
        form = NewUserForm(submitted_form(), owner=None)
        if not form.validate():
            return invited_page(form, row.email, status=422)
        made = account_of(form)
    except InvitationClosed as over:
        db.session.rollback()
        return over_page(over)
    except services.EmailTaken as taken:
        db.session.rollback()
        form.reject("email", taken.errors[0].title, "taken")
        return invited_page(form, "", status=422)
    sessions.start(made)
    return redirect(url_for("dashboard.home"), 303)


def account_of(form: NewUserForm) -> User:
    password_hash = passwords.hash_password(form.password.data)
    begin_write(db.session)
    made = invitations.accept(submitted_text("token"), form.email.data, password_hash, form.profile)
    db.session.commit()
    return made


def invited_page(form: NewUserForm, email: str, *, status: int = 200) -> Response:
    body = render_template("accounts/invited.html", form=form, token=submitted_text("token"), email=email)
    return make_response(body, status)


def over_page(over: InvitationClosed) -> Response:
    body = render_template("accounts/invitation_over.html", state=over.state)
    return make_response(body, STATUS.get(over.state, 410))
