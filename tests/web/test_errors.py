"""Error responses: the right shape for programs and for people, without internal details."""

from __future__ import annotations

import errno
import sqlite3
from contextlib import closing
from http import HTTPStatus
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.orm import Session, scoped_session

from app.api import resource
from app.core import errors
from app.core.config import Settings
from app.core.errors import FieldError, StoreDown
from app.core.extensions import db
from app.i18n.messages import in_english
from app.web.error_pages import PHRASES
from app.web.errors import STATUSES, described, failure_of
from tests.api.shape import problem
from tests.clients import Api

SECRET = "https://example.com/secret?token=123"
PIXEL = {"type": "social_a", "name": "n", "pixel": "1"}


def lost(text: str) -> OperationalError:
    return OperationalError(f"INSERT '{SECRET}'", {"url": SECRET}, sqlite3.OperationalError(text))


class Coded(Exception):
    """An error with a code, like psycopg's."""

    def __init__(self, sqlstate: str | None) -> None:
        super().__init__("the server said something")
        self.sqlstate = sqlstate


FAILURES: dict[str, tuple[Exception, int]] = {
    "locked": (lost("database is locked"), 503),
    "locked by a thread": (lost("database table is locked"), 503),
    "can't be opened": (lost("unable to open database file"), 503),
    "full": (lost("database or disk is full"), 507),
    "no such table": (lost("no such table: link"), 500),
    "PostgreSQL is away": (OperationalError("", {}, Coded(None)), 503),
    "PostgreSQL: deadlock": (OperationalError("", {}, Coded("40P01")), 503),
    "PostgreSQL: full": (OperationalError("", {}, Coded("53100")), 507),
    "no connection left": (PoolTimeout(), 503),
    "no plan can be read": (StoreDown(SECRET), 503),
    "no space for a file": (OSError(errno.ENOSPC, "No space left on device", SECRET), 507),
    "another error of a file": (OSError(errno.EACCES, "Permission denied", SECRET), 500),
    "a constraint": (IntegrityError(SECRET, {}, sqlite3.IntegrityError(SECRET)), 500),
    "a bug": (RuntimeError(SECRET), 500),
}


@pytest.mark.parametrize(("error", "status"), FAILURES.values(), ids=FAILURES.keys())
def test_status(error: Exception, status: int) -> None:
    failure = failure_of(error)
    assert failure.status == status
    assert ("Retry-After" in failure.headers) is (status == 503)
    assert SECRET not in str(failure)


@pytest.mark.parametrize(("error", "status"), FAILURES.values(), ids=FAILURES.keys())
def test_the_api_says_so(
    app: Flask, api: Api, error: Exception, status: int, monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:  # fmt: skip
    def fail(*_: Any) -> None:
        raise error

    monkeypatch.setattr("app.api.resource.find_page", fail)
    answer = api.get("/links", headers={"X-Request-Id": "the-one"})
    problem(answer, status)
    assert "secret" not in answer.text
    assert "Traceback" not in answer.text
    assert answer.headers["X-Request-Id"] == "the-one"
    failed = [record for record in caplog.records if "failed" in str(record.msg)]
    assert failed
    assert "the-one" in str(failed[0].msg)
    assert failed[0].exc_info or "Traceback" in str(failed[0].msg)


def test_every_error_of_the_domain_has_a_status() -> None:
    def below(kind: type[Exception]) -> set[type[Exception]]:
        return {kind}.union(*map(below, kind.__subclasses__()))

    known = below(errors.WaypostError) - {errors.WaypostError, errors.RetryLater}
    ours = {kind for kind in known if kind.__module__ == "app.core.errors"}
    assert {kind for kind in ours if not set(kind.__mro__) & set(STATUSES)} == set()


def test_a_locked_database_answers_503_and_comes_back(
    app: Flask, api: Api, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real lock, held by another connection for longer than requests wait."""
    monkeypatch.setattr("app.core.database.BUSY_SECONDS", 0)
    with app.app_context():
        db.engine.dispose()  # new connections do not wait
    with closing(sqlite3.connect(settings.data_dir / "main.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        answer = api.post("/pixels", PIXEL)
        assert problem(answer, 503)[0]["code"] == "storage_busy"
        assert int(answer.headers["Retry-After"]) > 0
        assert api.get("/pixels").json["data"] == []
    assert api.post("/pixels", PIXEL).status_code == 201


def test_a_full_disk_answers_507_and_reads_go_on(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite itself refuses another page, as on a full disk."""
    really = resource.begin_write

    def full(session: Any) -> None:
        really(session)
        connection = session.connection()
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")

    monkeypatch.setattr(resource, "begin_write", full)
    statuses = [api.post("/links", {"location_url": "https://example.com/" + "x" * 8000}) for _ in range(5)]
    assert problem(statuses[-1], 507)[0]["code"] == "storage_full"
    assert api.get("/links").status_code == 200


PAGES = [("GET", "/nothing/at/all", 404), ("GET", "/static/nothing.js", 404), ("DELETE", "/healthz", 405)]


@pytest.mark.parametrize(("method", "path", "status"), PAGES)
def test_people_get_a_page(client: FlaskClient, method: str, path: str, status: int) -> None:
    answer = client.open(path, method=method)
    assert answer.status_code == status
    assert answer.mimetype == "text/html"
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert "Content-Security-Policy" in answer.headers
    if status == 405:
        assert answer.headers["Allow"] == "GET, HEAD"


@pytest.mark.parametrize("status", [500, 503, 507])
def test_a_page_for_what_failed_needs_nothing(client: FlaskClient, app: Flask, status: int) -> None:
    causes = {
        500: RuntimeError(SECRET),
        503: lost("database is locked"),
        507: lost("database or disk is full"),
    }

    @app.before_request
    def fail() -> None:
        raise causes[status]

    @app.context_processor
    def asks_the_database() -> dict[str, Any]:
        raise AssertionError("nothing that can fail as well is asked for this page")

    answer = client.get("/dashboard/", headers={"X-Request-Id": "the-one"})
    assert answer.status_code == status
    assert "the-one" in answer.text
    assert "secret" not in answer.text


@pytest.mark.databases
def test_the_page_speaks_the_readers_language(client: FlaskClient) -> None:
    page = client.get("/dashboard/nothing/here", headers={"Accept-Language": "de"})
    assert (page.status_code, "<h1>Nicht gefunden</h1>" in page.text) == (404, True)


def test_the_phrases_are_those_of_http_in_english() -> None:
    assert set(STATUSES.values()) | {status for _, status in FAILURES.values()} <= set(PHRASES)
    assert {status: in_english(text) for status, text in PHRASES.items()} == {
        status: HTTPStatus(status).phrase for status in PHRASES
    }


def test_no_value_gets_into_what_an_error_says(session: scoped_session[Session]) -> None:
    with pytest.raises(DBAPIError) as caught:
        session.execute(sa.text("SELECT no_such_column FROM link WHERE url = :url"), {"url": SECRET})
    assert "secret" not in str(caught.value)


def test_entries_keep_their_fields(app: Flask) -> None:
    with app.test_request_context("/api/links"):
        found = described(
            failure_of(errors.Invalid(FieldError("A.", "a", "x"), FieldError("B.", "b"))), "/api"
        )
    assert found["errors"] == [
        {"title": "A.", "status": 422, "field": "x", "code": "a"},
        {"title": "B.", "status": 422, "code": "b"},
    ]
    assert found["detail"] == "A. B."


def test_waiting_is_told(app: Flask, api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(*_: Any) -> None:
        raise errors.RequestInProgress(7, FieldError("Wait.", "w"))

    monkeypatch.setattr("app.api.resource.find_page", wait)
    answer = api.get("/links")
    problem(answer, 409)
    assert answer.headers["Retry-After"] == "7"
