"""Exports: an import reads them back without loss, and they contain only the owner's links."""

from __future__ import annotations

import csv
import datetime as dt
import io
import json

import pytest
import sqlalchemy as sa

from app.accounts.passwords import hash_password
from app.accounts.workspaces import access_of
from app.core.csv_files import begins_formula
from app.core.errors import Invalid
from app.core.extensions import db
from app.domains.models import Domain
from app.import_export import archives, exporter
from app.import_export.models import Archive, FailedRow, LinkImport
from app.links import services
from app.links.history import PICTURES
from app.links.models import Alias, LimitCounter, Link
from app.links.pictures import Picture
from app.projects.models import Project
from tests.import_export.conftest import exported
from tests.links.pictures import picture


def short_url(url, site=None):
    return f"{site or 'https://s.test'}/{url}"


def rows_of(text):
    return list(csv.DictReader(io.StringIO(text.removeprefix("\ufeff"))))


@pytest.fixture
def full(session, alice, make_pixel, make_handler, make_domain):
    """Links of alice's with every field that a table can contain."""
    project = Project(**access_of(alice).row_columns, name="Spring", color="#123456")
    session.add(project)
    session.commit()
    domain = make_domain(alice, host="go.example", is_verified=True)
    ids = {"pixels_ids": [make_pixel(alice).id], "email_reports": [make_handler(alice).id]}
    moment = dt.datetime(2030, 1, 2, 3, 4, 5, tzinfo=dt.UTC)
    everything = {
        "url": "Full", "location_url": "https://example.com/ä?x=1,2", "domain_id": domain.id, "project_id": project.id,
        "title": '=HYPERLINK("x")', "notes": "two\nlines, \"quoted\"", "tags": ["a, b", "+c", "d|e"],
        "schedule": True, "start_date": moment, "end_date": moment + dt.timedelta(days=1), "clicks_limit": 7,
        "clicks_limit_confirmation_is_enabled": True,
        "expiration_url": "https://example.com/over", "sensitive_content": True, "http_status_code": 301,
        "app_linking_is_enabled": True, "cloaking_is_enabled": True, "cloaking_title": "-t",
        "cloaking_meta_description": "\u00a0\u200b\ufeff＝1", "cloaking_custom_js": "alert('1')", "is_enabled": False,
        "forward_query_parameters_is_enabled": True, "utm_source": "'s", "utm_medium": "m", "utm_campaign": "@u",
        "targeting_type": "country_code", "targeting": [["DE", "https://example.com/de"]], **ids,
    }  # fmt: skip
    link = services.create(access_of(alice), everything)
    services.create(access_of(alice), {"url": "plain", "location_url": "https://example.com/"})
    session.add(LimitCounter(link_id=link.id, clicks=41))
    session.commit()
    return link


# what other accounts have anew, and what CSV can't hold
APART = {"id", "last_datetime", "is_enabled", "has_password", "password_version", *PICTURES}


def described(user):
    """All links with what their ids stand for, as the other columns of CSV have it."""
    return [
        {name: text for name, text in row.items() if name not in APART} for row in rows_of(exported(user))
    ]


def test_no_cell_is_a_formula(session, alice, full):
    for row in rows_of(exported(alice)):
        assert not [text for text in row.values() if begins_formula(text)]


@pytest.mark.databases
def test_only_what_is_asked_for_and_ones_own(session, alice, bob, full):
    assert (rows_of(exported(bob)), json.loads(exported(bob, "json"))) == ([], [])
    services.create(access_of(bob), {"url": "his", "location_url": "https://example.com/"})
    session.commit()
    assert [row["url"] for row in rows_of(exported(alice, search="plain"))] == ["plain"]
    assert [row["url"] for row in rows_of(exported(bob))] == ["his"]
    assert [row["url"] for row in json.loads(exported(alice, "json"))] == ["Full", "plain"]
    assert rows_of(exported(alice))[0]["short_url"] == "https://go.example/Full"


def test_a_bad_filter(session, alice):
    with pytest.raises(Invalid):
        exporter.export(alice.id, {"is_enabled": "perhaps"}, "csv", short_url)


@pytest.mark.databases
def test_many_pages(session, alice, monkeypatch):
    monkeypatch.setattr(exporter, "BATCH_SIZE", 10)
    services.create_bulk(access_of(alice), {"location_urls": [f"https://example.com/{n}" for n in range(35)]})
    session.commit()
    assert [row["location_url"] for row in rows_of(exported(alice))] == [
        f"https://example.com/{n}" for n in range(35)
    ]
    assert session.query(LinkImport).count() == 0


# what can't be equal by nature; pictures have new names
NOT_MOVED = {"id", "workspace_id", "user_id", "domain_id", "project_id", "last_datetime", *PICTURES}


def columns_of(session):
    row = session.execute(sa.select(Link.__table__).where(Link.url == "Full")).mappings().one()
    return {name: value for name, value in row.items() if name not in NOT_MOVED}


def file_of(user, kind, settings):
    if kind != "zip":
        return exported(user, kind)
    archives.ask(user, "https://s.test")
    db.session.commit()
    row = db.session.scalars(sa.select(Archive)).one()
    archives.run(row.id, settings)
    return archives.path_of(settings.data_dir, row.file).read_bytes()


@pytest.mark.databases
@pytest.mark.parametrize("kind", ["csv", "json", "zip"])
def test_every_field_comes_to_another_account(
    session, settings, alice, bob, take, full, kind, make_pixel, make_handler, make_domain
) -> None:
    """Also one of two pixels that differ only in their names. A field that is added must be set here."""
    twins = [make_pixel(alice, type="social_a", pixel="77", name=name) for name in ("One", "Two")]
    secrets = {"password_hash": hash_password("x"), "pixels_ids": [twins[1].id], "is_enabled": True}
    pictures = {name: Picture(picture(), "png") for name in PICTURES}
    services.update(full, {**secrets, **pictures})
    session.commit()
    before, text, handler = columns_of(session), file_of(alice, kind, settings), full.handlers[0].name
    texts = described(alice)
    assert [name for name, value in before.items() if value in (None, "", [], 0)] == []
    services.delete_many(
        access_of(alice).workspace_id, [link.id for link in session.scalars(sa.select(Link))]
    )
    session.execute(sa.delete(Alias))
    session.execute(sa.delete(Domain))
    session.commit()
    theirs = {name: make_pixel(bob, type="social_a", pixel="77", name=name) for name in ("Two", "One")}
    if kind == "csv":  # it can't hold the secrets of handlers
        make_handler(bob, name=handler)
    make_domain(bob, host="go.example", is_verified=True)
    job = take(bob, text)
    assert (job.made, job.failed) == (2, 0), [row.problems for row in session.scalars(sa.select(FailedRow))]
    assert described(bob) == texts
    after = columns_of(session)
    differing = {name for name in after if after[name] != before[name]}
    assert differing == ({"password_hash", "password_version", "is_enabled"} if kind == "csv" else set())
    link = session.scalars(sa.select(Link).where(Link.url == "Full")).one()
    assert {bool(getattr(link, name)) for name in PICTURES} == {kind != "csv"}
    assert [pixel.id for pixel in link.pixels] == [theirs["Two"].id]
    assert (link.project.name, link.project.color) == ("Spring", "#4263eb" if kind == "csv" else "#123456")
    assert ([one.name for one in link.handlers], link.user_id) == ([handler], bob.id)
