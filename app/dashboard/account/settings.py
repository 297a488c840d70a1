"""Account page: name, time zone, language, reports, checks, password, address, sessions, data, deletion."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from babel.numbers import format_decimal
from flask import Response, abort, make_response, redirect, render_template, send_file, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from app.accounts import keys, passwords, second_factor, services, standing
from app.accounts import sessions as user_sessions
from app.accounts.deletion import leaving
from app.accounts.forms import AccountForm, LeaveForm, OwnEmailForm, PasswordForm
from app.accounts.models import User, UserSession
from app.accounts.oidc import identities
from app.accounts.oidc.models import OidcIdentity
from app.audit.services import record
from app.core import clock
from app.core.database import begin_write
from app.core.errors import Invalid, NotFound
from app.core.extensions import db
from app.dashboard.auth import reauthentication, sessions
from app.dashboard.auth.access import current_security_mail, is_shown_again, signed_in_user, submitted_form
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.auth.sessions import leave_browser
from app.dashboard.auth.single_sign_on import find_provider, require_provider, uses_password
from app.dashboard.imports.views import note_export
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.form_views import FormView
from app.events.subscriptions.ending import end_over
from app.i18n import language
from app.i18n.messages import gettext as _
from app.import_export import archives, files
from app.import_export.models import Archive
from app.input.data import RequestData
from app.web import application, urls

FOLDER = "dashboard/account"


class AccountViews(FormView):
    """The form of the account's settings, on its page."""

    def get_row(self, id: int | None = None) -> User:  # noqa: ARG002  the user's own
        return db.session.get_one(User, signed_in_user().id)  # itself: the proxy can't be read anew

    def make_form(self, fields: RequestData | None, stored: User) -> AccountForm:
        return AccountForm(fields, owner=stored, stored=stored)

    def form_page(self, form: Any, status: int = 200) -> ResponseReturnValue:
        return render_account(form, PasswordForm(None, owner=signed_in_user()), status)

    def save(self, row: User, changes: dict[str, Any]) -> User:
        services.update_user(row, changes)
        return row

    def updated(self, row: User) -> ResponseReturnValue:  # noqa: ARG002
        return back_to_account(_("Your account is saved."))


VIEWS = AccountViews()


@blueprint.get("/account/", endpoint="account")
def show() -> ResponseReturnValue:
    return VIEWS.ask_edit(signed_in_user().id)


@blueprint.post("/account/", endpoint="account_write")
def save() -> ResponseReturnValue:
    return VIEWS.update(signed_in_user().id)


@blueprint.post("/account/password", endpoint="account_password")
def save_password() -> ResponseReturnValue:
    """Change the password. Every session ends; this browser's is renewed: the old password was just typed."""
    if not uses_password(signed_in_user()):
        abort(404)
    form = PasswordForm(submitted_form(), owner=signed_in_user())
    if form.validate():
        reauthentication.ask_password(form)
    if form.problems:
        return render_account(
            VIEWS.read_form(None, VIEWS.get_row()), form, reauthentication.status_of_proof(form)
        )
    password_hash, signed_in_at = passwords.hash_password(form.password.data), sessions.this_one().datetime
    begin_write(db.session)
    services.store_password(signed_in_user(), password_hash)
    revoked = keys.revoke_keys(signed_in_user()) if form.revoke_keys.data else 0
    end_over(db.session)
    current_security_mail().password_is_changed(signed_in_user(), revoked)
    db.session.commit()
    sessions.renew(signed_in_user(), signed_in_at)
    return back_to_account(
        _("Your password is changed, and your API keys are revoked. Every other session is signed out.")
        if revoked
        else _("Your password is changed. Every other session is signed out.")
    )


def render_account(form: AccountForm, password_form: PasswordForm, status: int = 200) -> ResponseReturnValue:
    body = render_template(
        f"{FOLDER}/page.html",
        form=form,
        password_form=password_form,
        here="account",
        has_second_factor=second_factor.is_on(signed_in_user()),
        has_app=second_factor.has_app(signed_in_user()),
        user_sessions=signed_in(),
        this_session=sessions.this_one(),
        by_provider=identities.sessions_of(signed_in_user()),
        has_password=uses_password(signed_in_user()),
        identity=own_identity(),
        active_keys=len(keys.active_keys(signed_in_user())),
        now=clock.now(),
        zone=rendering.owner_zone(),
    )
    return make_response(body, status)


def own_identity() -> OidcIdentity | None:
    provider = find_provider()
    return identities.of_user(signed_in_user(), provider.issuer) if provider else None


@blueprint.post("/account/single-sign-on/unlink", endpoint="account_unlink")
@reauthenticated(show)
def unlink() -> ResponseReturnValue:
    """Remove the link to the provider. Only for a user who can still sign in."""
    provider = require_provider()
    if not uses_password(signed_in_user()):
        abort(404)
    signed_in_at = sessions.this_one().datetime
    begin_write(db.session)
    row = db.session.get_one(User, signed_in_user().id)
    identities.unlink(row, provider.issuer)
    db.session.commit()
    sessions.renew(row, signed_in_at)  # this one may have been of the provider
    return back_to_account(_("The link to single sign-on is removed."))


def signed_in() -> list[UserSession]:
    """The user's sessions: this browser's first, then the others, the last used first."""
    here = sessions.this_one().id
    return sorted(sessions.list_own(), key=lambda row: row.id != here)


def back_to_account(message: str, part: str | None = None) -> ResponseReturnValue:
    return rendering.redirect_with(message, url_for("dashboard.account", _anchor=part))


# --- the e-mail address


@blueprint.get("/account/email", endpoint="account_email")
def ask_email() -> ResponseReturnValue:
    return email_page(OwnEmailForm(None, owner=signed_in_user()))


def email_page(form: OwnEmailForm, status: int = 200) -> Response:
    return rendering.render_page(
        f"{FOLDER}/page_of.html",
        f"{FOLDER}/_email.html",
        status=status,
        here="account",
        form=form,
        heading=_("Change your e-mail address"),
    )


@blueprint.post("/account/email", endpoint="account_email_write")
def save_email() -> ResponseReturnValue:
    """Change the address. It can reset the password, so the form asks for the password, too."""
    form = OwnEmailForm(submitted_form(), owner=signed_in_user())
    if is_shown_again():
        return email_page(form)
    reauthentication.validate_with_password(form, "own_password")
    if form.problems:
        return email_page(form, reauthentication.status_of_proof(form))
    begin_write(db.session)
    row, old = db.session.get_one(User, signed_in_user().id), signed_in_user().email
    try:
        services.update_user(row, {"email": form.new_email.data})
    except Invalid as invalid:
        db.session.rollback()
        form.reject("new_email", invalid.errors[0].title, invalid.errors[0].code)
        return email_page(form, 422)
    if row.email != old:
        current_security_mail().email_is_changed(row, old)
    db.session.commit()
    message = _("You sign in with %(email)s from now on.", email=form.new_email.data)
    return rendering.leave_page(message, url_for("dashboard.account"), "email")


# --- sessions in other browsers


@blueprint.post("/account/sessions/<int:id>/end", endpoint="sessions_end")
def end_session(id: int) -> ResponseReturnValue:
    """End another session of the owner. (This browser's session ends with the sign-out button.)"""
    row = next((row for row in sessions.list_own() if row.id == id), None)
    if row is None or row.id == sessions.this_one().id:
        raise NotFound("session")
    begin_write(db.session)
    user_sessions.end(row)
    record(db.session, "session.ended", account=signed_in_user())
    db.session.commit()
    return back_to_account(_("This browser is signed out."), "sessions")


@blueprint.post("/account/sessions/end", endpoint="sessions_end_others")
def end_other_sessions() -> ResponseReturnValue:
    begin_write(db.session)
    ended = user_sessions.end_others(sessions.this_one())
    record(db.session, "session.ended", account=signed_in_user(), count=ended)
    db.session.commit()
    return back_to_account(_("Every other browser is signed out."), "sessions")


# --- all data to download, and the deletion of the account


UNITS = ("B", "kB", "MB", "GB", "TB")


@blueprint.get("/account/data", endpoint="account_data")
def show_data() -> ResponseReturnValue:
    """The state of the download. The page polls it while it is under way."""
    return rendering.render_page(
        f"{FOLDER}/data.html", f"{FOLDER}/_download.html", here="account", **download()
    )


def download() -> dict[str, Any]:
    row = archives.find_archive(signed_in_user())
    if row is not None and row.state == archives.DONE and not files.is_there(db.session, path_of(row)):
        row = None  # backups leave the downloads out: after a restore the row is there without its file
    return {
        "archive": row,
        "archive_ends": row and archives.expires_at(row),
        "under_way": archives.UNDER_WAY,
        "zone": rendering.owner_zone(),
    }


@blueprint.post("/account/data", endpoint="account_data_write")
@reauthenticated(show_data)
def make_archive() -> ResponseReturnValue:
    """Request an archive of all data. The worker makes it, so the page may be closed."""
    begin_write(db.session)
    archives.ask(signed_in_user(), urls.links_site())
    record(db.session, "archive.requested", account=signed_in_user())
    db.session.commit()
    if rendering.is_fragment():
        return show_data()
    return redirect(url_for("dashboard.account_data"), 303)


def path_of(row: Archive) -> Path:
    return archives.path_of(application.settings().data_dir, row.file)


@blueprint.get("/account/data/file", endpoint="account_data_file")
def send_archive() -> ResponseReturnValue:
    row = archives.find_archive(signed_in_user())
    if row is None or row.state != archives.DONE:
        abort(404)
    path = path_of(row)
    name = f"waypost-{(row.done_datetime or clock.now()):%Y-%m-%d}.zip"
    if not files.fetch(db.session, path):  # another machine may have made it
        abort(404)
    note_export("archive.downloaded", row.workspace_id)
    return send_file(path, mimetype="application/zip", as_attachment=True, download_name=name, max_age=0)


@blueprint.get("/account/delete", endpoint="account_delete")
def ask_delete() -> ResponseReturnValue:
    return delete_page(LeaveForm(None, owner=signed_in_user()))


def delete_page(form: LeaveForm, problem: str = "", status: int = 200) -> Response:
    return rendering.render_page(
        f"{FOLDER}/page_of.html",
        f"{FOLDER}/_delete.html",
        status=status,
        here="account",
        form=form,
        problem=problem,
        heading=_("Delete your account?"),
    )


@blueprint.post("/account/delete", endpoint="account_delete_write")
def delete_account() -> ResponseReturnValue:
    """Delete the account. Needs its e-mail address and the password: an open session is not enough."""
    form = LeaveForm(submitted_form(), owner=signed_in_user())
    reauthentication.validate_with_password(form, "own_password")
    if form.problems:
        return delete_page(form, status=reauthentication.status_of_proof(form))
    begin_write(db.session)
    row = db.session.get_one(User, signed_in_user().id)  # `current_user` is a proxy
    try:
        leaving.leave(row)
    except Invalid as invalid:
        db.session.rollback()
        return delete_page(form, invalid.errors[0].title, 422)
    until = standing.gone_from(row)
    db.session.commit()
    return left(
        _("Your account is deleted. Until %(until)s an admin can restore it.", until=f"{until:%Y-%m-%d}")
    )


def left(message: str) -> ResponseReturnValue:
    leave_browser()
    return rendering.leave_page(message, url_for("accounts.login"))


@blueprint.app_template_global()
def data_section() -> Markup:
    """The section for the account page. As a template global it needs nothing from that page's view."""
    return Markup(render_template(f"{FOLDER}/_data.html", **download()))  # noqa: S704  a template of ours


@blueprint.app_template_filter()
def as_size(count: float) -> str:
    """Format a number of bytes with its unit: `397.5 kB`."""
    power = 0
    while count >= 1000 and power < len(UNITS) - 1:
        count, power = count / 1000, power + 1
    return f"{format_decimal(count, format='#,##0.#', locale=language())} {UNITS[power]}"
