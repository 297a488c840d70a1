"""How does an owner bring links from elsewhere, watch them being made, and take all of hers away?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

from flask import (
    Blueprint,
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

from app import own_addresses
from app.dashboard import pages
from app.dashboard.guard import sent, user
from app.dashboard.receiving import receive, require_room
from app.database import begin_write, reread
from app.errors import FieldError, Invalid
from app.extensions import db
from app.ownership import get_owned
from app.transfer import columns, files, services, taking
from app.transfer.models import LinkImport
from app.transfer.tables import Table, Unreadable, open_table

FOLDER = "dashboard/imports"
SHOWN = 100  # failed rows on a page
EXAMPLES = 3
LISTED = 50
UNDER_WAY = ("checking", "taking")


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/imports/", "imports", show_list)
    blueprint.add_url_rule("/imports/", "imports_write", bring, methods=["POST"])
    blueprint.add_url_rule("/imports/<int:id>", "imports_one", show)
    blueprint.add_url_rule("/imports/<int:id>/check", "imports_check_write", check, methods=["POST"])
    blueprint.add_url_rule("/imports/<int:id>/take", "imports_take_write", take, methods=["POST"])
    blueprint.add_url_rule("/imports/<int:id>/columns", "imports_columns_write", name_anew, methods=["POST"])
    blueprint.add_url_rule("/imports/<int:id>/end", "imports_end_write", end, methods=["POST"])


def show_list(problem: str = "", status: int = 200) -> ResponseReturnValue:
    mine = select(LinkImport).where(LinkImport.user_id == user().id).order_by(LinkImport.id.desc())
    found = db.session.scalars(mine.limit(LISTED)).all()
    return answer("list", status, jobs=found, problem=problem, zone=pages.zone(), origins=columns.ORIGINS)


def bring() -> ResponseReturnValue:
    """The file is written where the worker finds it, and looked at; nothing is made of it yet."""
    path = files.new_file(own_addresses.settings().data_dir)
    try:
        require_room(path.parent, request.content_length or 0)
        services.require_few(user())
        db.session.rollback()  # no read goes on while the file comes and is looked at
        name = receive(path)
        if name is None:
            return show_list("Choose a file first.", 422)
        looked = services.look(path, is_hasty=True)
        begin_write(db.session)
        job = services.bring(user(), path, name, looked, request.host)
    except Invalid as invalid:
        db.session.rollback()
        return show_list(invalid.errors[0].title, 422)
    db.session.commit()
    return to(job)


def show(id: int) -> ResponseReturnValue:
    job = mine(id)
    return one(job) if job.state != "new" else naming(job)


def one(job: LinkImport) -> Response:
    """How far it is, and what failed. Asked for again and again while it is under way."""
    part = "state" if pages.is_fragment() else "one"
    failed, off = (services.listed_rows(job, SHOWN, is_made=is_made) for is_made in (False, True))
    off_count = services.count_made_rows(job)
    return answer(
        part, job=job, failed=failed, off=off, off_count=off_count, labels=labels(), under_way=UNDER_WAY
    )


def naming(job: LinkImport, errors: Sequence[FieldError] = (), status: int = 200) -> ResponseReturnValue:
    """Which column is which field? With the first cells of each, for headings may tell little."""
    table = table_of(job)
    if table is None:
        abort(404)
    rows = [row.cells for row in islice(table.rows(), EXAMPLES)]
    chosen = {column: field for field, column in job.columns.items()}
    return answer(
        "columns",
        status,
        job=job,
        columns=[(name, [row.get(name, "") for row in rows]) for name in table.columns],
        chosen=chosen,
        labels=labels(),
        errors=errors,
        origin=columns.origin_of(table.columns),
    )


def check(id: int) -> ResponseReturnValue:
    """Name its columns, and have every row looked at; nothing is made yet."""
    fields = {name.removeprefix("column:"): text(name) for name in sent() if name.startswith("column:")}
    job, table = mine(id), table_of(mine(id))
    if table is None:
        abort(404)
    begin_write(db.session)
    reread(db.session, job)
    try:
        services.require_new(job)
        services.choose(job, table, fields)
        job.project = services.project_of(text("project"))
    except Invalid as invalid:
        db.session.rollback()
        job.columns = {field: column for column, field in fields.items() if field}
        found = naming(job, invalid.errors, 422)
        db.session.rollback()
        return found
    taking.start(job, "checking")
    db.session.commit()
    return to(job)


def take(id: int) -> ResponseReturnValue:
    """Have the links made, by the worker: this page may be left."""
    return changed(id, "checked", lambda job: taking.start(job, "taking"))


def name_anew(id: int) -> ResponseReturnValue:
    """Back to naming the columns."""
    return changed(id, "checked", lambda job: taking.start(job, "new"))


def end(id: int) -> ResponseReturnValue:
    return changed(id, None, services.end)


def changed(id: int, state: str | None, change: Callable[[LinkImport], None]) -> ResponseReturnValue:
    """Sent twice, or from an old page, it changes nothing."""
    begin_write(db.session)
    job = mine(id)
    reread(db.session, job)
    if job.state == state or (state is None and job.state in services.UNFINISHED):
        change(job)
        db.session.commit()
    return to(job)


def mine(id: int) -> LinkImport:
    return get_owned(user(), LinkImport, id)


def text(name: str) -> str:
    value = sent().last(name) if name in sent() else ""
    return value if isinstance(value, str) else ""


def to(job: LinkImport) -> ResponseReturnValue:
    return redirect(url_for("dashboard.imports_one", id=job.id), 303)


def answer(name: str, status: int = 200, **context: Any) -> Response:
    body = render_template(f"{FOLDER}/{'_' if name == 'state' else ''}{name}.html", here="imports", **context)
    return make_response(body, status)


def labels() -> dict[str, str]:
    return {field: column.label for field, column in columns.COLUMNS.items()}


def table_of(job: LinkImport) -> Table | None:
    try:
        return open_table(files.path_of(own_addresses.settings().data_dir, job.file))
    except (OSError, Unreadable):
        return None
