"""Links with a password stay closed through export and import."""

from __future__ import annotations

import csv
import io
import json

import pytest
import sqlalchemy as sa

from app.accounts.passwords import hash_password
from app.accounts.workspaces import access_of
from app.import_export import runs
from app.import_export.models import FailedRow
from app.import_export.services import listed_rows
from app.links import services
from app.links.models import Link
from tests.import_export.conftest import exported
from tests.import_export.test_cells import BAD, hash_of


@pytest.fixture
def closed(session, alice):
    """A link of alice's with a password that was changed once, and one without any."""
    link = services.create(
        access_of(alice),
        {"url": "closed", "location_url": "https://example.com/", "password_hash": hash_password("first")},
    )
    services.update(link, {"password_hash": hash_password("open sesame")})
    services.create(access_of(alice), {"url": "plain", "location_url": "https://example.com/p"})
    session.commit()
    return link.password_hash


def remove_all(session, user):
    services.delete_many(access_of(user).workspace_id, list(session.scalars(sa.select(Link.id))))
    session.commit()


def link_called(session, alias):
    return session.scalars(sa.select(Link).where(Link.url == alias)).one()


@pytest.mark.databases
@pytest.mark.parametrize("state", ["checking", "taking"])
def test_csv_marks_a_password_and_its_link_comes_in_switched_off(session, alice, take, closed, state):
    text = exported(alice, "csv")
    assert "$argon2id" not in text
    rows = list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))
    assert [row["has_password"] for row in rows] == ["1", "0"]
    remove_all(session, alice)
    job = take(alice, text, state)
    assert (job.made, job.failed) == (2, 0)
    [listed] = session.scalars(sa.select(FailedRow))
    assert (listed.is_made, listed.line, listed.problems[0][0]) == (True, 2, "has_password")
    assert "closed" in listed.cells
    if state == "taking":
        assert not link_called(session, "closed").is_enabled
        assert link_called(session, "plain").is_enabled


@pytest.mark.parametrize(
    "text",
    [
        "address,target,password\nclosed,https://example.com/,true\n",
        "url,location_url,password,is_enabled\nclosed,https://example.com/,hunter2,1\n",
        '[{"address": "closed", "target": "https://example.com/", "password": true}]',
        '[{"path": "closed", "originalURL": "https://example.com/", "hasPassword": true}]',
    ],
)
def test_a_password_of_another_service_is_a_mark(session, alice, take, text):
    job = take(alice, text)
    assert (job.made, len(listed_rows(job, 10, is_made=True))) == (1, 1)
    assert not link_called(session, "closed").is_enabled


def test_a_hash_that_was_left_out_leaves_the_mark(session, settings, alice, bring, closed):
    text = exported(alice, "json")
    remove_all(session, alice)
    job = bring(alice, text)
    job.columns = {field: name for field, name in job.columns.items() if field != "password_hash"}
    session.commit()
    runs.run(job.id, settings)
    assert not link_called(session, "closed").is_enabled


def test_a_row_with_a_costly_hash_fails_and_makes_nothing(session, alice, take):
    rows = [
        {"url": "bomb", "location_url": "https://example.com/", "password_hash": BAD["absurd memory"]},
        {"url": "huge", "location_url": "https://example.com/", "password_hash": hash_of(), "password_version": 2**31},
        {"url": "good", "location_url": "https://example.com/", "password_hash": hash_of()},
    ]  # fmt: skip
    job = take(alice, json.dumps(rows))
    assert (job.made, job.failed) == (1, 2)
    found = [row.problems[0][0] for row in listed_rows(job, 10, is_made=False)]
    assert found == ["password_hash", "password_version"]
    link = session.scalars(sa.select(Link)).one()
    assert (link.url, link.password_version) == ("good", 1)
