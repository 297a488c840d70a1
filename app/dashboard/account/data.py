"""Pages where an owner downloads all data and deletes the account."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from babel.numbers import format_decimal
from flask import Response, abort, redirect, render_template, send_file, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from app.accounts import standing
from app.accounts.deletion import leaving
from app.accounts.forms import LeaveForm
from app.accounts.models import User
from app.audit.services import record
from app.core import clock
from app.core.database import begin_write
from app.core.errors import Invalid
from app.core.extensions import db
from app.dashboard.auth import reauthentication
from app.dashboard.auth.access import signed_in_user, submitted_form
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.auth.sessions import leave_browser
from app.dashboard.imports.exports import note_export
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.i18n import language
from app.i18n.messages import gettext as _
from app.import_export import archives, files
from app.import_export.models import Archive
from app.web import application, urls

FOLDER = "dashboard/account"
UNITS = ("B", "kB", "MB", "GB", "TB")


@blueprint.get("/account/data", endpoint="account_data")
def show() -> ResponseReturnValue:
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
@reauthenticated(show)
def make() -> ResponseReturnValue:
    """Request an archive of all data. The worker makes it, so the page may be closed."""
    begin_write(db.session)
    archives.ask(signed_in_user(), urls.links_site())
    record(db.session, "archive.requested", account=signed_in_user())
    db.session.commit()
    if rendering.is_fragment():
        return show()
    return redirect(url_for("dashboard.account_data"), 303)


def path_of(row: Archive) -> Path:
    return archives.path_of(application.settings().data_dir, row.file)


@blueprint.get("/account/data/file", endpoint="account_data_file")
def file() -> ResponseReturnValue:
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
def delete() -> ResponseReturnValue:
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
