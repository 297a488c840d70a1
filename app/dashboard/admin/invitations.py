"""How does an admin invite somebody, and how does whoever is invited make the account?"""

from __future__ import annotations

from flask import Blueprint, Response, current_app, make_response, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from app import own_addresses
from app.accounts import invitations, passwords, services
from app.accounts.forms import InvitationForm, NewUserForm
from app.accounts.invitations import Over
from app.accounts.models import Invitation, User
from app.clock import written
from app.dashboard import pages, sessions
from app.dashboard.accounts import blueprint as accounts
from app.dashboard.accounts import settings_of, typed
from app.dashboard.admins import admins_only
from app.dashboard.guard import sent, user
from app.dashboard.reauthentication import reauthenticated
from app.dashboard.users import rows
from app.database import begin_write, reread
from app.errors import NotThere
from app.extensions import db
from app.languages import say
from app.notifications import letters
from app.ownership import MOST

FOLDER = "dashboard/users"
STATUS = {invitations.UNKNOWN: 404}


def register(blueprint: Blueprint) -> None:
    rule = blueprint.add_url_rule
    new, revoking = "/users/invitations/new", "/users/invitations/<int:id>/revoke"
    rule(new, "invitations_new", admins_only(ask_new))
    rule(new, "invitations_new_write", admins_only(reauthenticated(create, ask_new_again)), methods=["POST"])
    rule(revoking, "invitations_revoke", admins_only(ask_revoke))
    rule(revoking, "invitations_revoke_write", admins_only(revoke), methods=["POST"])


# --- an admin's


def ask_new() -> ResponseReturnValue:
    return form_page(InvitationForm(None, owner=user()))


def ask_new_again() -> ResponseReturnValue:
    """With what was typed, where the password was missing or wrong."""
    return form_page(InvitationForm(sent(), owner=user()))


def form_page(form: InvitationForm, status: int = 200) -> Response:
    return answer("invite", status, form=form, has_mail=has_mail(), heading="Invite somebody")


def has_mail() -> bool:
    return bool(settings_of(current_app).smtp_url)


def create() -> ResponseReturnValue:
    """The address is in this one answer (and in the mail, if one goes), and nowhere else."""
    form = InvitationForm(sent(), owner=user())
    if form.validate() and form.email.data and services.find_user(form.email.data):
        form.reject("email", "There is an account with this e-mail address already.", "taken")
    if form.problems:
        return form_page(form, 422)
    begin_write(db.session)
    row, token = invitations.invite(user(), email=form.email.data or "", is_admin=bool(form.is_admin.data))
    address = own_addresses.owners_site() + url_for("accounts.invited", token=token)
    is_mailed = bool(row.email) and has_mail() and not letters.has_enough(db.session, row.email)
    if is_mailed:
        letters.post(
            db.session, user().id, about_of(row), row.email, letter(row, address), row.expires_datetime
        )
    db.session.commit()
    response = answer(
        "invited", row=row, address=address, is_mailed=is_mailed, zone=pages.zone(),
        heading="The invitation",
    )  # fmt: skip
    response.headers["HX-Trigger"] = "users-changed"
    return response


def about_of(row: Invitation) -> str:
    return f"invitation:{row.id}"


def letter(row: Invitation, address: str) -> letters.Content:
    """In the language of who invites: nobody knows another."""
    who = user().name or user().email
    until = written(row.expires_datetime)
    return letters.Content(
        title=say(f"{who} invites you to Waypost"),
        text=say(f"Make your account by the address below. It works once, until {until} UTC."),
        url=address,
        button=say("Make your account"),
        language=user().language,
    )


def ask_revoke(id: int) -> ResponseReturnValue:
    return answer("revoke", row=find(id), zone=pages.zone(), heading="Revoke this invitation?")


def find(id: int) -> Invitation:
    row = db.session.get(Invitation, id) if 0 < id <= MOST else None
    if row is None or row.used_datetime is not None:
        raise NotThere("invitation")
    return row


def revoke(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    row = find(id)
    reread(db.session, row)
    invitations.revoke(row)
    letters.withdraw(db.session, about_of(row))
    db.session.commit()
    message = "The invitation is revoked."
    if not pages.is_fragment():
        return pages.sent_on(message, url_for("dashboard.users"))
    part = render_template(f"{FOLDER}/_list.html", **rows())
    return pages.swapped(message, part, "#results", "innerHTML")


def answer(name: str, status: int = 200, **context: object) -> Response:
    return pages.page(f"{FOLDER}/page.html", f"{FOLDER}/_{name}.html", status=status, here="users", **context)


# --- of whoever is invited


@accounts.get("/setup/invitation")
def invited() -> ResponseReturnValue:
    try:
        row = invitations.find(typed("token"))
    except Over as over:
        return over_page(over)
    return invited_page(NewUserForm(None, owner=None), row.email)


@accounts.post("/setup/invitation")
def accept() -> ResponseReturnValue:
    try:
        row = invitations.find(typed("token"))
        form = NewUserForm(sent(), owner=None)
        if not form.validate():
            return invited_page(form, row.email, status=422)
        made = account_of(form)
    except Over as over:
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
    made = invitations.accept(typed("token"), form.email.data, password_hash, form.name.data or "")
    db.session.commit()
    return made


def invited_page(form: NewUserForm, email: str, *, status: int = 200) -> Response:
    body = render_template("accounts/invited.html", form=form, token=typed("token"), email=email)
    return make_response(body, status)


def over_page(over: Over) -> Response:
    body = render_template("accounts/invitation_over.html", state=over.state)
    return make_response(body, STATUS.get(over.state, 410))
