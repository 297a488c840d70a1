"""Links with a password stay closed through export and import."""

from __future__ import annotations

import csv
import io
import json

import pytest
import sqlalchemy as sa

from app.accounts.passwords import HASHER, check_password, hash_password
from app.accounts.workspaces import access_of
from app.import_export import exporter, runs
from app.import_export.link_passwords import had_password, read_hash
from app.import_export.models import FailedRow
from app.import_export.services import listed_rows
from app.input.parsers import Rejected
from app.links import services
from app.links.models import Link

SALT, DIGEST = "c2FsdHNhbHRzYWx0c2FsdA", "x" * 42 + "w"


def hash_of(memory=19456, passes=2, lanes=1, salt=SALT, digest=DIGEST):
    return f"$argon2id$v=19$m={memory},t={passes},p={lanes}${salt}${digest}"


def exported(user, kind):
    return "".join(exporter.export(user.id, {}, kind, lambda url, site: f"{site or 'https://s.test'}/{url}"))


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
def test_json_brings_the_password_and_its_version(session, alice, take, closed):
    text = exported(alice, "json")
    remove_all(session, alice)
    job = take(alice, text)
    assert (job.made, job.failed) == (2, 0)
    link, plain = link_called(session, "closed"), link_called(session, "plain")
    assert (link.password_hash, link.password_version, link.is_enabled) == (closed, 2, True)
    assert check_password(link.password_hash, "open sesame")
    assert not check_password(link.password_hash, "first")
    assert (plain.password_hash, plain.password_version, plain.is_enabled) == (None, 0, True)
    assert not listed_rows(job, 10, is_made=True)


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


@pytest.mark.parametrize("text", ["", " ", "0", "false", "No", "null"])
def test_no_password(text):
    assert not had_password(text)


def test_hashes_of_our_own_and_up_to_the_bounds():
    assert read_hash(made := HASHER.hash("x")) == made
    for text in (hash_of(), hash_of(64 * 1024, 4, 4), hash_of(8, 1, 1)):
        assert read_hash(text) == text
        assert not check_password(text, "x")  # argon2 reads it, and says no


BAD = {
    "memory": hash_of(memory=64 * 1024 + 1),
    "absurd memory": hash_of(memory=2**32 - 1),
    "passes": hash_of(passes=5),
    "absurd passes": hash_of(passes=2**32 - 1),
    "lanes": hash_of(lanes=5),
    "less memory than lanes need": hash_of(memory=31, lanes=4),
    "no memory": hash_of(memory=0),
    "leading zero": hash_of(memory="019456"),
    "other digits": hash_of(passes="\u0662"),
    "more digits than any number has": hash_of(memory="9" * 5000),
    "argon2i": hash_of().replace("argon2id", "argon2i"),
    "argon2d": hash_of().replace("argon2id", "argon2d"),
    "old version": hash_of().replace("v=19", "v=16"),
    "key id": hash_of().replace("p=1", "p=1,keyid=AAAA"),
    "short salt": hash_of(salt="c2FsdA"),
    "long salt": hash_of(salt="A" * 88),
    "short hash": hash_of(digest="AAAA"),
    "no base64": hash_of(salt="A" * 21),
    "bits left over": hash_of(digest="x" * 43),
    "padding": hash_of(salt=SALT + "=="),
    "line end": hash_of() + "\n",
    "bcrypt": "$2b$12$" + "a" * 53,
    "plain text": "hunter2",
    "mask": "********",
}


@pytest.mark.parametrize("text", BAD.values(), ids=BAD.keys())
def test_no_other_hash_is_taken(text):
    with pytest.raises(Rejected):
        read_hash(text)


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
