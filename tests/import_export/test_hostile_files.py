"""Hostile files and rows: an unreadable row fails with a message, and the import goes on."""

from __future__ import annotations

import json

import pytest
import sqlalchemy as sa

from app.accounts.workspaces import access_of
from app.core.errors import Invalid
from app.import_export import columns, files, runs, services, tables
from app.import_export.models import FailedRow, LinkImport
from app.links.models import Link
from tests.import_export.hostile import FILES, GOOD, HOSTILE, as_json


def destinations(session, user) -> list[str]:
    return list(
        session.scalars(
            sa.select(Link.location_url)
            .where(Link.workspace_id == access_of(user).workspace_id)
            .order_by(Link.id)
        )
    )


def failed(session, job) -> list[FailedRow]:
    return list(session.scalars(sa.select(FailedRow).filter_by(import_id=job.id).order_by(FailedRow.number)))


@pytest.mark.full
@pytest.mark.databases
@pytest.mark.parametrize("state", ["checking", "taking"])
def test_no_cell_stops_an_import(session, take, alice, state):
    """Each hostile text in each column, between good rows: all of them in one table."""
    rows: list[dict[str, object]] = []
    for text in [*HOSTILE.values(), "\ud800", "\udfff\ud800", "http://\ud800/", "https://example.com/\udcff"]:
        rows += [{"location_url": GOOD, field: text} for field in columns.COLUMNS]
        rows.append(dict.fromkeys(columns.COLUMNS, text))
        rows.append({"location_url": GOOD, "title": "good"})
    job = take(alice, as_json(rows), state)
    assert (job.state, job.problem) == ("checked" if state == "checking" else "done", "")
    assert job.position == len(rows) == job.made + job.known + job.failed
    assert all(words and words[0][1] for words in (row.problems for row in failed(session, job)))
    json.dumps(
        [[row.cells, row.problems] for row in failed(session, job)], ensure_ascii=False, default=str
    ).encode()
    if state == "taking":
        made = session.scalar(sa.select(sa.func.count()).select_from(Link).where(Link.title == "good"))
        assert made >= 1, "the good rows are there"


def test_a_row_that_raises_anything_is_a_failed_row(session, take, alice, monkeypatch):
    read = runs.read_row

    def broken(cells, names, around, target):
        if cells.get("title") == "broken":
            raise RecursionError("maximum recursion depth exceeded")
        return read(cells, names, around, target)

    monkeypatch.setattr(runs, "read_row", broken)
    job = take(alice, f"location_url,title\n{GOOD}/1,one\n{GOOD}/2,broken\n{GOOD}/3,three\n")
    assert (job.state, job.made, job.failed) == ("done", 2, 1)
    assert [(row.line, row.problems[0][1]) for row in failed(session, job)] == [(3, runs.UNREADABLE_ROW)]


@pytest.mark.databases
def test_a_row_that_the_database_refuses_is_a_failed_row(session, take, alice, monkeypatch):
    """A row that raises in the transaction does not fail the other rows of its step."""
    make = runs.make

    def broken(access, wanted):
        made = make(access, wanted)
        if any(one.changes.get("title") == "broken" for one in wanted):
            session.execute(sa.insert(Link.__table__).values(id=1, url=None))
        return made

    monkeypatch.setattr(runs, "make", broken)
    rows = [f"{GOOD}/{number},{'broken' if number in {3, 250} else 'fine'}" for number in range(300)]
    job = take(alice, "\n".join(["location_url,title", *rows]))
    assert (job.state, job.position, job.made, job.failed) == ("done", 300, 298, 2)
    assert [row.line for row in failed(session, job)] == [5, 252]
    assert len(set(destinations(session, alice))) == 298


# --- whole files


def look(path):
    try:
        return services.look(path)
    except Invalid:
        return None


def brought(session, settings, user, content: bytes) -> LinkImport | None:
    """Upload a file as the dashboard does: it is read, and if it is a table, checked and imported."""
    path = files.new_file(settings.data_dir)
    path.write_bytes(content)
    looked = look(path)
    if looked is None:
        assert not path.exists(), "nothing stays behind"
        return None
    job = services.bring(access_of(user), path, "links\udcff.csv", looked)
    table = tables.open_table(path)
    assert len(list(table.rows())) == looked.rows
    if "location_url" not in job.columns:
        job.columns = {"location_url": table.columns[0]}
    for state in ("checking", "taking"):
        services.start(job, state)
        session.commit()
        runs.run(job.id, settings)
        session.refresh(job)
    return job


@pytest.mark.parametrize("name", FILES)
def test_no_file_stops_an_import(session, settings, alice, name):
    job = brought(session, settings, alice, FILES[name])
    if job is not None:
        assert job.state == "done", job.problem
        assert job.position == job.made + job.known + job.failed
        json.dumps([row.cells for row in failed(session, job)], ensure_ascii=False).encode()
