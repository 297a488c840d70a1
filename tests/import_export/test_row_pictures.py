"""Pictures in rows of JSON: written by the export, bounded and validated by the import."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.import_export import cells, exporter, runs
from app.import_export.models import FailedRow, LinkImport
from app.import_export.readers import json as json_reader
from app.import_export.readers.archive import MAX_PICTURE_BYTES
from app.links import services
from app.links.forms import LinkForm
from app.links.models import Link
from app.links.pictures import Picture
from tests import pictures as stored_pictures
from tests.import_export.conftest import exported
from tests.links.pictures import SVG, huge_png, picture

TO = "https://example.com/"
Take = Callable[..., LinkImport]


def data(content: bytes, kind: str = "image/png") -> str:
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"


def table(*rows: dict[str, Any]) -> str:
    return json.dumps([{"location_url": TO, **row} for row in rows])


def kept() -> list[str]:
    return stored_pictures.served()


@pytest.fixture
def shown(alice: User, session: Session) -> Link:
    """A link with both pictures."""
    pictures = {name: Picture(picture(size=(20, number)), "png") for number, name in enumerate(cells.DATA_FIELDS, 1)}  # fmt: skip
    link = services.create(access_of(alice), {"url": "shown", "location_url": TO, **pictures})
    session.commit()
    return link


@pytest.mark.databases
def test_an_export_holds_them_and_an_import_writes_them_anew(session, alice, bob, shown, take) -> None:
    text = exported(alice, "json")
    [row] = json.loads(text)
    for name, field in cells.DATA_FIELDS.items():
        stored = stored_pictures.content(getattr(shown, name))
        assert row[field] == data(stored)
    services.delete_many(access_of(alice).workspace_id, [shown.id])
    session.commit()
    job = take(alice, text)
    assert (job.made, job.failed, session.query(FailedRow).count()) == (1, 0, 0)
    made = session.scalars(sa.select(Link)).one()
    for name in cells.DATA_FIELDS:
        assert getattr(made, name) in kept()
        assert getattr(made, name) not in row[name]


def test_other_files_do_not_hold_them(alice: User, shown: Link) -> None:
    assert "_data" not in exported(alice)
    [[row]] = exporter.pages(alice.id, (), lambda url, _: url)
    assert [row[field] for field in cells.DATA_FIELDS.values()] == [None, None], "the ZIP has them once"


def test_an_export_reads_the_pictures_of_one_row_at_a_time(session, alice, shown, monkeypatch) -> None:
    services.create(access_of(alice), {"url": "other", "location_url": TO})
    session.commit()
    read: list[str] = []
    monkeypatch.setattr(exporter, "with_pictures", lambda row: read.append(row["url"]) or row)
    pieces = exporter.export(alice.id, {}, "json", lambda url, _: url)
    next(pieces)
    assert read == ["shown"]
    assert not db.session().in_transaction(), "a slow download keeps no snapshot of the database"
    next(pieces)
    assert read == ["shown", "other"]


@pytest.mark.databases
def test_a_picture_that_is_gone_or_too_large_is_left_out(alice: User, shown: Link) -> None:
    stored_pictures.lose(f"uploads/{shown.cloaking_favicon}")
    stored_pictures.overwrite(str(shown.cloaking_opengraph), bytes(MAX_PICTURE_BYTES + 1))
    [row] = json.loads(exported(alice, "json"))
    assert [row[field] for field in cells.DATA_FIELDS.values()] == [None, None]


LARGEST = {"cloaking_favicon": 512 * 1024, "cloaking_opengraph": MAX_PICTURE_BYTES}


def test_an_object_holds_two_of_the_largest_pictures_beside_all_else() -> None:
    limits = {name: getattr(LinkForm, name).kwargs["most_bytes"] for name in cells.DATA_FIELDS}
    assert limits == LARGEST
    row = {field: data(bytes(LARGEST[name])) for name, field in cells.DATA_FIELDS.items()}
    assert len(json.dumps(row)) + json_reader.MAX_LINE < json_reader.MAX_OBJECT


GOOD = data(picture())
BAD: dict[str, tuple[str, str]] = {
    "no data URL": ("pictures/a.png", "as a data URL"),
    "another kind of file": (data(b"%PDF", "application/pdf"), "as a data URL"),
    "no base64": ("data:image/png,%89PNG", "as a data URL"),
    "broken off": (GOOD[:-3], "base64 can't be read"),
    "signs that are none of base64": (GOOD[:40] + "!?" + GOOD[42:], "base64 can't be read"),
    "half a surrogate": (GOOD[:40] + "\ud800" + GOOD[41:], "base64 can't be read"),
    "damaged": (data(picture()[:40]), "a whole picture"),
    "SVG": (data(SVG, "image/svg+xml"), "a whole picture"),
    "SVG that says it is PNG": (data(SVG), "a whole picture"),
    "a bomb of pixels": (data(huge_png(50_000, 50_000)), "20 megapixels"),
    "too large for its field": (data(picture() + bytes(512 * 1024)), "at most 512 KiB"),
    "too large for any field": (data(picture() + bytes(MAX_PICTURE_BYTES)), "at most 512 KiB"),
    "50 MB": (data(bytes(50_000_000)), "more than 10,000,000 characters. A picture may have 5 MiB."),
}


@pytest.mark.databases
@pytest.mark.parametrize("state", [pytest.param("checking", marks=pytest.mark.full), "taking"])
def test_a_bad_one_is_a_failed_row_and_leaves_nothing(session, alice, take, state) -> None:
    """All of them in one file, between two good rows."""
    rows = [{"url": f"n{number}", "cloaking_favicon_data": text} for number, (text, _) in enumerate(BAD.values())]  # fmt: skip
    text = table({"url": "first", "cloaking_favicon_data": GOOD}).removesuffix("]")
    text += "".join(f",\n{table(row)[1:-1]}" for row in [*rows, {"url": "last"}]) + "]"
    job = take(alice, text, state)
    found = session.scalars(sa.select(FailedRow).order_by(FailedRow.number)).all()
    assert (job.made, job.failed, job.position) == (2, len(BAD), len(BAD) + 2)
    assert [row.number for row in found] == list(range(2, len(BAD) + 2))
    wrong = {
        name: row.problems
        for (name, (_, said)), row in zip(BAD.items(), found, strict=True)
        if len(row.problems) != 1 or said not in row.problems[0][1]
    }
    assert wrong == {}
    assert len(kept()) == (1 if state == "taking" else 0)
    assert sum(len(cell) for row in found for cell in row.cells) < 100 * len(BAD), "none of it is stored"


def test_a_row_with_pictures_ends_its_step(session, alice, settings, bring) -> None:
    """Each may take a minute, and memory holds the pictures of one row."""
    rows = [{"url": f"n{n}", "cloaking_favicon_data": GOOD if n % 2 else None} for n in range(6)]
    taking = runs.begin(bring(alice, table(*rows)), settings)
    assert taking is not None
    assert [len(taking.next_rows()) for _ in range(4)] == [2, 2, 2, 0]


def test_the_same_row_with_and_without_them_is_one_link(session, alice, shown, take) -> None:
    """An older export has the names alone. Moved to another alias, a link would come a second time otherwise."""
    rows = json.loads(exported(alice, "json"))
    services.delete_many(access_of(alice).workspace_id, [shown.id])
    session.commit()
    assert take(alice, json.dumps(rows)).made == 1
    services.update(session.scalars(sa.select(Link)).one(), {"url": "moved"})
    session.commit()
    new = {"project_color", "handler_settings", *cells.DATA_FIELDS.values()}
    older = [{name: value for name, value in row.items() if name not in new} for row in rows]
    job = take(alice, json.dumps(older))
    assert (job.made, job.known, job.failed) == (0, 1, 0)
