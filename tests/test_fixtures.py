"""The fixtures themselves: the marked database, changed settings, and sessions apart from the test's."""

from __future__ import annotations

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, inspect, select

from app.accounts.workspaces import access_of, create_own
from app.core.config import Settings
from app.core.extensions import db
from app.pixels.models import Pixel


@pytest.mark.databases
def test_a_marked_test_has_the_database_it_is_named_for(session, database: str) -> None:
    assert db.engine.dialect.name == database


@pytest.mark.databases
def test_every_table_is_there_and_empty(session) -> None:
    found = {
        (schema, table) for schema in (None, "clicks") for table in inspect(db.engine).get_table_names(schema)
    }
    wanted = {(table.schema, table.name) for table in db.metadata.tables.values()}
    assert wanted <= found
    rows = {
        t.fullname: session.scalar(select(func.count()).select_from(t)) for t in db.metadata.tables.values()
    }
    # one row says since when finished segments are recorded, another how far the feed of events is
    filled = {name: number for name, number in rows.items() if number}
    assert filled == {"clicks.finished_segment": 1, "clicks.event_counter": 1}


@pytest.mark.settings(BASE_URL="https://go.example")
def test_a_mark_changes_a_setting(settings: Settings) -> None:
    assert settings.base_url == "https://go.example"


def test_a_request_shares_no_session_with_the_test(app: Flask, client: FlaskClient, session) -> None:
    theirs: list[object] = []

    @app.get("/whose-session")
    def whose_session() -> str:
        theirs.append(db.session())
        return "ok"

    assert client.get("/whose-session").status_code == 200
    assert theirs[0] is not session()


@pytest.mark.databases
def test_what_a_request_changed_is_seen_by_the_test(app: Flask, client: FlaskClient, session) -> None:
    from app.accounts.models import User

    user = User(email="a@example.com", password_hash="")
    session.add(user)
    session.flush()
    create_own(user)
    pixel = Pixel(**access_of(user).row_columns, type="social_a", name="before", pixel="1")
    session.add(pixel)
    session.commit()
    assert pixel.name == "before"

    @app.get("/rename")
    def rename() -> str:
        db.session.get_one(Pixel, 1).name = "after"
        db.session.commit()
        return "ok"

    assert client.get("/rename").status_code == 200
    assert pixel.name == "after"
