"""How does an owner take everything away, and leave?"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from babel.numbers import format_decimal
from flask import Blueprint, Response, abort, flash, redirect, render_template, send_file, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from app import clock, own_addresses
from app.accounts import standing
from app.accounts.forms import LeaveForm
from app.accounts.models import User
from app.audit.services import record
from app.dashboard import pages, proofs
from app.dashboard.blueprint import blueprint
from app.dashboard.exports import note_export
from app.dashboard.guard import sent, user
from app.dashboard.reauthentication import reauthenticated
from app.dashboard.sessions import leave_browser
from app.database import begin_write
from app.departures import leaving
from app.errors import Invalid
from app.extensions import db
from app.languages import language
from app.transfer import archives
from app.transfer.models import Archive

FOLDER = "dashboard/account"
UNITS = ("B", "kB", "MB", "GB", "TB")


def register(blueprint: Blueprint) -> None:
    rule = blueprint.add_url_rule
    rule("/account/data", "account_data", show)
    rule("/account/data", "account_data_write", reauthenticated(make, show), methods=["POST"])
    rule("/account/data/file", "account_data_file", file)
    rule("/account/delete", "account_delete", ask_delete)
    rule("/account/delete", "account_delete_write", delete, methods=["POST"])


def show() -> ResponseReturnValue:
    """How far it is: asked for again and again while it is under way."""
    return pages.page(f"{FOLDER}/data.html", f"{FOLDER}/_download.html", here="account", **download())


def download() -> dict[str, Any]:
    row = archives.of(user())
    if row is not None and row.state == archives.DONE and not path_of(row).is_file():
        row = None  # a backup has no downloads
    return {
        "archive": row,
        "archive_ends": row and archives.ends(row),
        "under_way": archives.UNDER_WAY,
        "zone": pages.zone(),
    }


def make() -> ResponseReturnValue:
    """The worker makes it: this page may be left."""
    begin_write(db.session)
    archives.ask(user(), own_addresses.site())
    record(db.session, "archive.requested", account=user())
    db.session.commit()
    if pages.is_fragment():
        return show()
    return redirect(url_for("dashboard.account_data"), 303)


def path_of(row: Archive) -> Path:
    return archives.path_of(own_addresses.settings().data_dir, row.file)


def file() -> ResponseReturnValue:
    row = archives.of(user())
    if row is None or row.state != archives.DONE:
        abort(404)
    path = path_of(row)
    name = f"waypost-{(row.done_datetime or clock.now()):%Y-%m-%d}.zip"
    if not path.is_file():
        abort(404)
    note_export("archive.downloaded")
    return send_file(path, mimetype="application/zip", as_attachment=True, download_name=name, max_age=0)


def ask_delete() -> ResponseReturnValue:
    return delete_page(LeaveForm(None, owner=user()))


def delete_page(form: LeaveForm, problem: str = "", status: int = 200) -> Response:
    return pages.page(
        f"{FOLDER}/page_of.html",
        f"{FOLDER}/_delete.html",
        status=status,
        here="account",
        form=form,
        problem=problem,
        heading="Delete your account?",
    )


def delete() -> ResponseReturnValue:
    """By whoever knows the password and says which account: an open session alone is not enough."""
    form = LeaveForm(sent(), owner=user())
    if form.validate():
        proofs.ask_password(form, "own_password")
    if form.problems:
        return delete_page(form, status=proofs.status_of(form))
    begin_write(db.session)
    row = db.session.get_one(User, user().id)  # `current_user` is a proxy
    try:
        leaving.leave(row)
    except Invalid as invalid:
        db.session.rollback()
        return delete_page(form, invalid.errors[0].title, 422)
    until = standing.gone_from(row)
    db.session.commit()
    return left(f"Your account is deleted. Until {until:%Y-%m-%d} an admin can bring it back.")


def left(message: str) -> ResponseReturnValue:
    leave_browser()
    flash(message)
    to = url_for("accounts.login")
    return Response(headers={"HX-Redirect": to}) if pages.is_fragment() else redirect(to, 303)


@blueprint.app_template_global()
def data_section() -> Markup:
    """The account page's own: so it needs to know nothing of this."""
    return Markup(render_template(f"{FOLDER}/_data.html", **download()))  # noqa: S704  a template of ours


@blueprint.app_template_filter()
def as_size(count: float) -> str:
    """So many bytes as somebody reads them: `397.5 kB`."""
    power = 0
    while count >= 1000 and power < len(UNITS) - 1:
        count, power = count / 1000, power + 1
    return f"{format_decimal(count, format='#,##0.#', locale=language())} {UNITS[power]}"
