"""History of links: who changed what, and reverting to an older state."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest
import sqlalchemy as sa

from app.accounts.workspaces import access_of
from app.core.actor import Actor, act_as
from app.core.clock import now
from app.core.database import begin_write
from app.core.errors import AliasTaken, NotFound
from app.core.extensions import db
from app.links import previous_uploads, services
from app.links.forms import LinkForm
from app.links.history import MAX_CHANGES, as_sent, history_of
from app.links.models import Link
from app.links.removal import erase
from app.links.uploads import Picture
from app.pixels import services as pixels
from app.projects.models import Project
from tests import pictures
from tests.writes import write

TO, ELSEWHERE = "https://example.com/", "https://example.org/"


def make(user: Any, **changes: Any) -> Link:
    return write(services.create, access_of(user), {"location_url": TO, "url": "one", **changes})


def told(link: Link) -> list[tuple[str, dict[str, Any]]]:
    return [(change.kind, change.fields) for change in history_of(link)]


def test_who_changed_what(alice: Any) -> None:
    act_as(Actor("api", "my script", alice.id, alice.email))
    link = make(alice)
    act_as(Actor("dashboard", "Alice", alice.id, alice.email))
    write(services.update, link, {"location_url": ELSEWHERE, "title": None, "tags": ["t"]})
    assert told(link) == [
        ("changed", {"location_url": [TO, ELSEWHERE], "tags": [[], ["t"]]}),
        ("created", {}),
    ]
    told_by = [(one.way, one.who, one.person) for one in history_of(link)]
    assert told_by == [("dashboard", "Alice", alice.email), ("api", "my script", alice.email)]


def test_nothing_is_told_of_a_change_to_nothing(alice: Any) -> None:
    link = make(alice)
    write(services.update, link, {"location_url": TO})
    assert len(told(link)) == 1


@pytest.mark.databases
def test_back_to_an_older_state(alice: Any, make_pixel: Any, make_handler: Any, make_project: Any) -> None:
    pixel, gone, handler = make_pixel(alice), make_pixel(alice), make_handler(alice)
    project = make_project(alice)
    dates = {"start_date": now(), "end_date": now() + dt.timedelta(days=1)}
    first = {
        "schedule": True, **dates, "tags": ["a", "b"], "pixels_ids": [pixel.id, gone.id], "title": "first",
        "email_reports": [handler.id], "project_id": project.id,
        "targeting_type": "rotation", "targeting": [["9", TO]],
    }  # fmt: skip
    link = make(alice, **first)
    emptied = dict.fromkeys(first) | {
        "schedule": False,
        "tags": [],
        "pixels_ids": [],
        "email_reports": [],
        "targeting": [],
    }
    write(services.update, link, {**emptied, "url": "two"})
    write(services.update, link, {"location_url": ELSEWHERE})
    write(pixels.delete, gone)
    db.session.execute(sa.delete(Project))
    db.session.commit()
    write(services.revert, link, history_of(link)[-1].id)
    assert (link.url, link.location_url, link.title, link.schedule) == ("one", TO, "first", True)
    assert {name: getattr(link, name) for name in dates} == dates
    assert [row.tag for row in link.tag_rows] == ["a", "b"]
    assert ([row.id for row in link.pixels], [row.id for row in link.handlers]) == ([pixel.id], [handler.id])
    assert (link.targeting_type, link.targeting, link.project_id) == ("rotation", [["9", TO]], None)
    assert [kind for kind, _ in told(link)] == ["reverted", "changed", "changed", "created"]


def test_a_password_is_neither_put_back_nor_taken_away(alice: Any) -> None:
    link = make(alice)
    write(services.update, link, {"password_hash": "first", "title": "first"})
    write(services.update, link, {"password_hash": "second", "title": "second"})
    version = link.password_version
    for change, title in zip(history_of(link)[1:], ("first", None), strict=True):
        write(services.revert, link, change.id)
        assert (link.title, link.password_hash, link.password_version) == (title, "second", version)
    write(services.update, link, {"password_hash": None, "title": "open"})
    write(services.revert, link, history_of(link)[2].id)
    assert (link.title, link.password_hash) == ("first", None)


def content(name: str | None) -> bytes | None:
    return name and pictures.content(name)


@pytest.mark.databases
def test_a_picture_comes_back(alice: Any) -> None:
    link = make(alice, cloaking_opengraph=Picture(b"first", "png"), cloaking_favicon=Picture(b"icon", "png"))
    first, icon = link.cloaking_opengraph, link.cloaking_favicon
    write(services.update, link, {"cloaking_opengraph": Picture(b"second", "jpg"), "cloaking_favicon": None})
    second = link.cloaking_opengraph
    write(services.update, link, {"cloaking_opengraph": None})
    assert not pictures.served()  # nothing of it is served
    write(services.revert, link, history_of(link)[1].id)
    assert (content(link.cloaking_opengraph), link.cloaking_favicon) == (b"second", None)
    assert link.cloaking_opengraph != second  # an old URL of the picture shows nothing
    write(services.revert, link, history_of(link)[-1].id)
    assert (content(link.cloaking_opengraph), content(link.cloaking_favicon)) == (b"first", b"icon")
    begin_write(db.session)
    services.revert(link, history_of(link)[-2].id)
    db.session.rollback()
    assert content(link.cloaking_opengraph) == b"first"
    pictures.lose(f"replaced/{link.id}-{first}")
    write(services.update, link, {"cloaking_opengraph": None, "cloaking_favicon": None})
    write(services.revert, link, history_of(link)[-1].id)
    assert (link.cloaking_opengraph, content(link.cloaking_favicon)) == (None, b"icon")
    assert previous_uploads.find(link.id, icon)
    write(erase, access_of(alice).workspace_id, [link.id])
    assert not pictures.previous() and not pictures.served()


def test_a_change_that_fails_keeps_no_picture(alice: Any) -> None:
    link = make(alice, cloaking_favicon=Picture(b"icon", "png"))
    begin_write(db.session)
    services.update(link, {"cloaking_favicon": None})
    db.session.rollback()
    assert content(link.cloaking_favicon) == b"icon"
    assert not pictures.previous()


def test_back_to_an_alias_that_is_anothers_now(alice: Any) -> None:
    link = make(alice)
    write(services.update, link, {"url": "two"})
    make(alice)
    with pytest.raises(AliasTaken):
        write(services.revert, link, history_of(link)[-1].id)


def test_only_its_own_changes(alice: Any, bob: Any) -> None:
    link, other = make(alice), make(bob, url="bobs")
    with pytest.raises(NotFound):
        write(services.revert, link, history_of(other)[0].id)


def test_it_stays_small(alice: Any) -> None:
    link = make(alice)
    for number in range(MAX_CHANGES + 3):
        write(services.update, link, {"title": str(number)})
    assert len(history_of(link)) == MAX_CHANGES
    assert history_of(link)[0].fields == {"title": [str(MAX_CHANGES + 1), str(MAX_CHANGES + 2)]}


def test_it_goes_along_into_the_trash_and_back(alice: Any) -> None:
    from app.trash import services as trash

    link = make(alice)
    batch = write(services.delete, link)
    link = write(lambda: services.restore(trash.find_batch(access_of(alice).workspace_id, batch)[0]))
    assert [kind for kind, _ in told(link)] == ["restored", "deleted", "created"]


TO = "https://example.com/"
MOMENT = dt.datetime(2026, 3, 1, 12, 30, tzinfo=dt.UTC)
VERSIONS: dict[str, dict[str, Any]] = {
    "texts": {"title": "T, with a comma", "notes": "two\nlines", "utm_source": None, "location_url": TO},
    "an alias": {"url": "Straße"},
    "flags": {"is_enabled": False, "cloaking_is_enabled": True, "sensitive_content": False},
    "numbers": {"clicks_limit": 5, "http_status_code": 301},
    "no limit": {"clicks_limit": None},
    "tags": {"tags": ["b", "a,b"]},
    "no tags": {"tags": []},
    "a schedule": {"schedule": True, "start_date": MOMENT, "end_date": MOMENT + dt.timedelta(days=1)},
    "no schedule": {"schedule": False, "start_date": None, "end_date": None},
    "targeting": {"targeting_type": "country_code", "targeting": [["DE", TO], ["FR", f"{TO}fr"]]},
    "targeting without lines": {"targeting_type": "rotation", "targeting": []},
    "no targeting": {"targeting_type": None, "targeting": []},
}


def test_the_form_reads_what_was_recorded(make_link: Any, alice: Any) -> None:
    for name, version in VERSIONS.items():
        link = make_link(alice, targeting_type="device_type", targeting=[["mobile", TO]])
        form = LinkForm(as_sent(link, version), owner=access_of(alice), stored=link)
        form.require_valid()
        assert form.changes == version, name


def test_lines_of_the_type_that_stays(make_link: Any, alice: Any) -> None:
    link = make_link(alice, targeting_type="device_type", targeting=[["mobile", TO]])
    for lines in ([["tablet", TO]], []):
        form = LinkForm(as_sent(link, {"targeting": lines}), owner=access_of(alice), stored=link)
        form.require_valid()
        assert form.changes["targeting"] == lines


def test_rows_that_it_names(
    make_link: Any, make_pixel: Any, make_handler: Any, make_project: Any, alice: Any
) -> None:
    changes = {
        "pixels_ids": [make_pixel(alice).id, make_pixel(alice).id],
        "email_reports": [make_handler(alice).id],
        "project_id": make_project(alice).id,
        "domain_id": None,
    }
    form = LinkForm(as_sent(make_link(alice), changes), owner=access_of(alice), stored=make_link(alice))
    form.require_valid()
    assert form.changes == changes
