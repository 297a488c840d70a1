"""Pages of imports: upload, choice of columns, preview, progress and result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from flask import (
    Response,
    abort,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from app.accounts.ownership import get_owned
from app.core.database import begin_write, reread
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.imports import preview_page
from app.dashboard.imports.upload import receive
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import current_access, may_use, workspace_id
from app.i18n.messages import gettext as _
from app.import_export import columns, dates, files, services
from app.import_export.cells import hide_secrets
from app.import_export.files import require_room
from app.import_export.models import UNFINISHED, LinkImport
from app.import_export.readers.reader import UnreadableTable
from app.import_export.tables import TableFormat, open_table
from app.web import application
from app.web.body import read_list_query

FOLDER = "dashboard/imports"
SHOWN = 100  # rows that became links and need a look
EXAMPLES = 3
LISTED = 50
UNDER_WAY = ("checking", "taking")


@blueprint.get("/imports/", endpoint="imports")
def show_list(problem: str = "", status: int = 200) -> ResponseReturnValue:
    mine = select(LinkImport).where(LinkImport.workspace_id == workspace_id()).order_by(LinkImport.id.desc())
    found = db.session.scalars(mine.limit(LISTED)).all()
    return render_page(
        "list", status, jobs=found, problem=problem, zone=rendering.owner_zone(), services=columns.SERVICES
    )


@blueprint.post("/imports/", endpoint="imports_write")
def bring() -> ResponseReturnValue:
    """Store the uploaded file for the worker, and look at its format. No link is created yet."""
    path = files.new_file(application.settings().data_dir)
    try:
        require_room(path.parent, request.content_length or 0)
        services.require_few(current_access())
        db.session.rollback()  # no transaction stays open during the upload
        name = receive(path)
        if name is None:
            return show_list(_("Choose a file first."), 422)
        looked = services.look(path, is_hasty=True)
        files.store(db.session, path)
        begin_write(db.session)
        job = services.bring(current_access(), path, name, looked, request.host)
    except Invalid as invalid:
        db.session.rollback()
        return show_list(invalid.errors[0].title, 422)
    db.session.commit()
    return redirect_to_import(job)


@blueprint.get("/imports/<int:id>", endpoint="imports_one")
def show(id: int) -> ResponseReturnValue:
    job = get_own_import(id)
    return naming(job) if job.state == "new" and may_use("imports_check") else one(job)


def one(job: LinkImport) -> Response:
    """Progress and failed rows of an import. The page polls it while it is under way."""
    part = "state" if rendering.is_fragment() else "one"
    return render_page(
        part,
        job=job,
        found=preview_page.read_page(job, dict(read_list_query())),
        field_changes=lambda row: preview_page.field_changes(row, rendering.owner_zone()),
        untouched=preview_page.untouched(job),
        off=services.listed_rows(job, SHOWN, is_made=True),
        off_count=services.count_made_rows(job),
        labels=labels(),
        under_way=UNDER_WAY,
        order_labels=order_labels(),
    )


def naming(job: LinkImport, errors: Sequence[FieldError] = (), status: int = 200) -> ResponseReturnValue:
    """The form that assigns columns to fields, with the first cells of each: headings may tell little."""
    table = table_of(job)
    if table is None:
        abort(404)
    rows = [hide_secrets(row.cells, job.columns) for row in islice(table.rows(), EXAMPLES)]
    chosen = {column: field for field, column in job.columns.items()}
    return render_page(
        "columns",
        status,
        job=job,
        columns=[(name, [row.get(name, "") for row in rows]) for name in table.columns],
        chosen=chosen,
        labels=labels(),
        errors=errors,
        origin=columns.origin_of(table.columns),
        orders=columns.date_orders(table, job.columns),
        order_labels=order_labels(),
    )


@blueprint.post("/imports/<int:id>/check", endpoint="imports_check_write")
def check(id: int) -> ResponseReturnValue:
    """Store the choices, and have the worker check every row. Nothing is created or changed yet."""
    fields = {
        name.removeprefix("column:"): submitted_text(name)
        for name in submitted_form()
        if name.startswith("column:")
    }
    job, table = get_own_import(id), table_of(get_own_import(id))
    if table is None:
        abort(404)
    orders = columns.date_orders(table, {field: column for column, field in fields.items()})
    begin_write(db.session)
    reread(db.session, job)
    try:
        services.require_new(job)
        existing = services.read_existing(submitted_text("existing"), submitted_text("empty"))
        services.choose(job, table, fields, orders, submitted_text("date_order"), existing)
        job.project = services.project_of(submitted_text("project"))
    except Invalid as invalid:
        db.session.rollback()
        job.columns = {field: column for column, field in fields.items() if field}
        job.date_order = order if (order := submitted_text("date_order")) in dates.PLACES else ""
        job.is_update = submitted_text("existing") == "update"
        job.clears_empty = submitted_text("empty") == "clear"
        found = naming(job, invalid.errors, 422)
        db.session.rollback()
        return found
    services.start(job, "checking")
    db.session.commit()
    return redirect_to_import(job)


@blueprint.post("/imports/<int:id>/take", endpoint="imports_take_write")
def take(id: int) -> ResponseReturnValue:
    """Have the worker create and change the links. The page may be closed."""
    return apply_change(id, "checked", lambda job: services.start(job, "taking"))


@blueprint.post("/imports/<int:id>/columns", endpoint="imports_columns_write")
def name_anew(id: int) -> ResponseReturnValue:
    """Go back to the choice of columns."""
    return apply_change(id, "checked", lambda job: services.start(job, "new"))


@blueprint.post("/imports/<int:id>/end", endpoint="imports_end_write")
def end(id: int) -> ResponseReturnValue:
    return apply_change(id, None, services.end)


def apply_change(id: int, state: str | None, change: Callable[[LinkImport], None]) -> ResponseReturnValue:
    """Apply `change` if the import is in `state` (None: unfinished). A form sent twice changes nothing."""
    begin_write(db.session)
    job = get_own_import(id)
    reread(db.session, job)
    if job.state == state or (state is None and job.state in UNFINISHED):
        change(job)
        db.session.commit()
    return redirect_to_import(job)


def get_own_import(id: int) -> LinkImport:
    return get_owned(current_access(), LinkImport, id)


def submitted_text(name: str) -> str:
    value = submitted_form().last(name) if name in submitted_form() else ""
    return value if isinstance(value, str) else ""


def redirect_to_import(job: LinkImport) -> ResponseReturnValue:
    return redirect(url_for("dashboard.imports_one", id=job.id), 303)


def render_page(name: str, status: int = 200, **context: Any) -> Response:
    body = render_template(f"{FOLDER}/{'_' if name == 'state' else ''}{name}.html", here="imports", **context)
    return make_response(body, status)


def labels() -> dict[str, str]:
    return {field: column.label for field, column in columns.COLUMNS.items()}


def order_labels() -> dict[str, str]:
    return dict(dates.EXAMPLES)


def table_of(job: LinkImport) -> TableFormat | None:
    path = files.path_of(application.settings().data_dir, job.file)
    try:
        files.fetch(db.session, path)
        return open_table(path)
    except (OSError, UnreadableTable, Invalid):
        return None
