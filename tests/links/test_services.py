"""Creating, changing and deleting links, invalidation of compiled links, and concurrent changes."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Any

import pytest
import sqlalchemy as sa
from sqlalchemy import inspect, select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.clock import now
from app.core.errors import Invalid, NotFound
from app.core.extensions import db
from app.domains.models import Domain
from app.input.data import RequestData
from app.links import services
from app.links.forms import LinkForm
from app.links.insertion import insert_links
from app.links.models import Alias, Link, LinkTag, PlanChange, link_pixel
from app.pixels import services as pixel_services
from app.projects.models import Project
from tests.writes import write

TO = "https://example.com/"


def make(user, **changes):
    return write(services.create, access_of(user), {"location_url": TO, **changes})


def update(link, **changes):
    return write(services.update, link, changes)


def plans():
    """The compiled links that were invalidated since the last call."""
    found = [
        (row.domain_id, row.alias) for row in db.session.scalars(select(PlanChange).order_by(PlanChange.id))
    ]
    db.session.execute(sa.delete(PlanChange))
    db.session.commit()
    return found


def counts():
    tables = (Link, Alias, LinkTag)
    return [db.session.scalar(select(sa.func.count()).select_from(table)) for table in tables]


@pytest.mark.databases
def test_everything(alice, make_pixel, make_handler, make_domain, make_project):
    pixels, handlers = [make_pixel(alice), make_pixel(alice)], [make_handler(alice)]
    project = make_project(alice)
    domain = make_domain(alice, "a.example")
    columns = {
        "project_id": project.id, "domain_id": domain.id, "is_enabled": False, "title": "t", "notes": "n",
        "schedule": True, "start_date": now(), "end_date": now() + dt.timedelta(days=1), "clicks_limit": 5,
        "expiration_url": TO, "password_hash": "$h", "sensitive_content": True, "http_status_code": 308,
        "app_linking_is_enabled": True, "cloaking_is_enabled": True, "cloaking_title": "c",
        "cloaking_meta_description": "d", "cloaking_custom_js": "j", "forward_query_parameters_is_enabled": True,
        "utm_source": "s", "utm_medium": "m", "utm_campaign": "u", "targeting_type": "rotation",
        "targeting": [["1", TO]],
    }  # fmt: skip
    ids = {"pixels_ids": [pixel.id for pixel in pixels], "email_reports": [handlers[0].id]}
    link = make(alice, url="Foo", tags=["b", "a"], **columns, **ids)
    db.session.expire_all()
    assert {name: getattr(link, name) for name in columns} == columns
    assert (link.url, link.pixels, link.handlers, link.password_version) == ("Foo", pixels, handlers, 1)
    assert [row.tag for row in link.tag_rows] == ["b", "a"]


def test_an_update_changes_nothing_else(alice, make_pixel):
    pixel = make_pixel(alice)
    link = make(alice, url="foo", title="t", tags=["a"], pixels_ids=[pixel.id], utm_source="s")
    plans()
    update(link, utm_source=None)
    assert (link.url, link.title, link.utm_source, link.pixels) == ("foo", "t", None, [pixel])
    assert [row.tag for row in link.tag_rows] == ["a"]
    assert now() - link.last_datetime < dt.timedelta(minutes=1)
    assert plans() == [(0, "foo")]


@pytest.mark.databases
def test_tags_in_another_order(alice):
    link = make(alice, tags=["a", "b", "c"])
    update(link, tags=["c", "d", "a"])
    db.session.expire_all()
    assert [row.tag for row in link.tag_rows] == ["c", "d", "a"]
    update(link, tags=[])
    assert link.tag_rows == []


def test_both_places_are_planned_anew(alice, make_domain):
    domain = make_domain(alice, "a.example")
    link = make(alice, url="Foo")
    plans()
    update(link, url="Bar")
    assert plans() == [(0, "foo"), (0, "bar")]
    update(link, domain_id=domain.id)
    assert plans() == [(0, "bar"), (domain.id, "bar")]
    write(services.delete, link)
    assert plans() == [(domain.id, "bar")]


def test_each_new_password_raises_its_version(alice):
    link = make(alice, password_hash="$1")
    assert link.password_version == 1
    for change, version in (({"password_hash": "$2"}, 2), ({"title": "x"}, 2), ({"password_hash": None}, 3),
                            ({"password_hash": None}, 3), ({"password_hash": "$1"}, 4)):  # fmt: skip
        update(link, **change)
        assert link.password_version == version


# --- many


def test_a_thousand(alice, make_pixel):
    pixel = make_pixel(alice)
    lines = [f"https://example.com/{number}" for number in range(1000)]
    changes = {
        "location_urls": lines,
        "title": "t",
        "tags": ["a", "b"],
        "pixels_ids": [pixel.id],
        "password_hash": "$h",
    }
    links = write(services.create_bulk, access_of(alice), changes)
    assert [link.location_url for link in links] == lines
    assert [link.id for link in links] == sorted(link.id for link in links)
    assert len({link.url for link in links}) == 1000
    assert counts() == [1000, 1000, 2000]
    assert {link.password_version for link in links} == {1}
    assert plans() == []
    assert links[999].pixels == [pixel]


def test_many_or_none(alice, bob, make_pixel):
    before = counts()
    changes = {"location_urls": [TO] * 3, "pixels_ids": [make_pixel(bob).id]}
    with pytest.raises(Invalid):
        write(services.create_bulk, access_of(alice), changes)
    db.session.rollback()
    assert counts() == before


# --- concurrent changes


def elsewhere(app, *statements):
    """Run statements in a transaction of their own, as another process would."""
    with app.app_context():
        engine = db.engine
    with Session(engine) as session:
        for statement in statements:
            session.execute(statement)
        session.commit()


def checked(alice, *pairs, stored=None):
    form = LinkForm(RequestData(pairs), owner=access_of(alice), stored=stored)
    form.require_valid()
    return form.changes


ATTACHED = ["pixels_ids", "email_reports", "project_id", "domain_id"]


@pytest.mark.databases
@pytest.mark.parametrize("field", ATTACHED)
def test_what_was_deleted_meanwhile_is_named(app, alice, make_pixel, make_handler, field):
    rows = {
        "pixels_ids": lambda: make_pixel(alice),
        "email_reports": lambda: make_handler(alice),
        "project_id": lambda: Project(**access_of(alice).row_columns, name="p"),
        "domain_id": lambda: Domain(
            **access_of(alice).row_columns, host="a.example", is_verified=True, token="t"
        ),
    }
    row = rows[field]()
    db.session.add(row)
    db.session.commit()
    link = make(alice)
    changes = checked(alice, (field, str(row.id)), stored=link)
    elsewhere(app, sa.delete(type(row)).where(type(row).id == row.id))
    with pytest.raises(Invalid) as caught:
        update(link, **changes)
    assert [(one.field, one.code) for one in caught.value.errors] == [(field, "not_found")]
    db.session.rollback()
    with pytest.raises(Invalid):
        make(alice, **changes)


def test_a_domain_switched_off_meanwhile(app, alice, make_domain):
    domain = make_domain(alice, "a.example")
    changes = checked(alice, ("location_url", TO), ("domain_id", str(domain.id)))
    elsewhere(app, sa.update(Domain).values(is_enabled=False))
    with pytest.raises(Invalid) as caught:
        write(services.create, access_of(alice), changes)
    assert [one.field for one in caught.value.errors] == ["domain_id"]


@pytest.mark.databases
@pytest.mark.parametrize("service", [lambda link: services.update(link, {"title": "x"}), services.delete])
def test_a_link_deleted_meanwhile_is_not_there(app, alice, service):
    link = make(alice)
    elsewhere(app, sa.delete(Alias), sa.delete(Link))
    with pytest.raises(NotFound):
        write(service, link)


def test_an_order_broken_by_two_at_once(app, alice):
    link = make(alice, schedule=True, start_date=now(), end_date=now() + dt.timedelta(days=9))
    changes = checked(alice, ("start_date", str(now() + dt.timedelta(days=5))), stored=link)
    elsewhere(app, sa.update(Link).values(end_date=now() + dt.timedelta(days=2)))
    with pytest.raises(Invalid) as caught:
        update(link, **changes)
    assert [(one.field, one.code) for one in caught.value.errors] == [("end_date", "order")]


def test_a_schedule_ended_meanwhile_keeps_no_date(app, alice):
    link = make(alice, schedule=True, start_date=now())
    changes = checked(alice, ("end_date", str(now() + dt.timedelta(days=5))), stored=link)
    elsewhere(app, sa.update(Link).values(schedule=False, start_date=None))
    update(link, **changes)
    assert (link.schedule, link.start_date, link.end_date) == (False, None, None)


def test_pairs_and_their_type_stay_together(app, alice):
    link = make(alice, targeting_type="country_code", targeting=[["DE", TO]])
    pairs = [("targeting_country_code_key[0]", "FR"), ("targeting_country_code_value[0]", TO)]
    changes = checked(alice, *pairs, stored=link)
    elsewhere(app, sa.update(Link).values(targeting_type="rotation", targeting=[["5", TO]]))
    update(link, **changes)
    assert (link.targeting_type, link.targeting) == ("country_code", [["FR", TO]])


@pytest.mark.databases
def test_deleting_a_pixel_while_links_take_it_on(app, alice, make_pixel):
    """Whichever comes first: the link has no deleted pixel, and there is no database error."""
    user_id, pixel_ids = alice.id, [make_pixel(alice).id for _ in range(8)]
    refused, start = [], threading.Barrier(2)

    def take_on():
        with app.app_context():
            user = db.session.get(User, user_id)
            start.wait(90)
            for pixel_id in pixel_ids:
                try:
                    make(user, pixels_ids=[pixel_id])
                except Invalid:
                    db.session.rollback()
                    refused.append(pixel_id)

    db.session.commit()
    thread = threading.Thread(target=take_on)
    thread.start()
    start.wait(90)
    for pixel_id in reversed(pixel_ids):
        write(pixel_services.delete, db.session.get(pixel_services.Pixel, pixel_id))
    thread.join(90)
    assert not thread.is_alive()
    made = db.session.scalar(select(sa.func.count()).select_from(Link))
    assert made + len(refused) == len(pixel_ids)
    assert db.session.execute(select(link_pixel)).all() == []


# --- what links use


def test_a_pixel_that_changes_has_its_links_planned_anew(alice, make_pixel):
    pixel, other = make_pixel(alice), make_pixel(alice)
    make(alice, url="Foo", pixels_ids=[pixel.id])
    make(alice, url="bar", pixels_ids=[pixel.id, other.id])
    make(alice, url="none")
    plans()
    write(pixel_services.update, pixel, {"name": "new"})
    assert sorted(plans()) == [(0, "bar"), (0, "foo")]
    write(pixel_services.delete, other)
    assert plans() == [(0, "bar")]


NOW = dt.datetime(2026, 11, 26, 3, tzinfo=dt.UTC)
GIVEN: dict[str, dict[str, Any]] = {
    "a destination alone": {},
    "values that are searched": {"title": "Straße", "notes": "Ä line\nand another"},
    "values that are not the defaults": {
        "is_enabled": False,
        "schedule": True,
        "start_date": NOW,
        "start_due": NOW,
        "clicks_limit": 5,
        "clicks_limit_confirmation_is_enabled": True,
        "http_status_code": 308,
        "targeting_type": "country_code",
        "targeting": [["DE", "https://example.com/de"]],
        "last_datetime": NOW,
        "password_version": 1,
    },
    "nothing where there is a default": dict.fromkeys(
        ["type", "is_enabled", "http_status_code", "datetime", "password_version"]
    ),
}


def row_of(session: scoped_session[Session], id_: int) -> dict[str, Any]:
    table = Link.__table__
    return dict(session.execute(select(*table.c).where(table.c.id == id_)).one()._mapping)


@pytest.mark.databases
@pytest.mark.parametrize("given", GIVEN.values(), ids=GIVEN)
def test_the_rows_are_those_of_the_orm(
    given: dict[str, Any], alice: User, session: scoped_session[Session]
) -> None:
    columns = {**access_of(alice).row_columns, "url": "Äbc", "location_url": "https://example.com/", **given}
    one, other = Link(**columns), Link(**columns)
    session.add(one)
    session.flush()
    insert_links([other])
    first, second = row_of(session, one.id), row_of(session, other.id)
    assert {**second, "id": first["id"], "datetime": first["datetime"]} == first
    assert abs(second["datetime"] - first["datetime"]) < dt.timedelta(minutes=5)


@pytest.mark.databases
def test_the_objects_are_stored_rows(alice: User, session: scoped_session[Session]) -> None:
    columns = {**access_of(alice).row_columns, "location_url": "https://example.com/"}
    links = [Link(**columns, url=f"a{number}", title=title) for number, title in enumerate(["T", None, "U"])]
    insert_links(links)
    assert [session.get(Link, link.id) is link for link in links] == [True] * 3
    assert not any(inspect(link).modified for link in links)
    assert [row_of(session, link.id)["url"] for link in links] == ["a0", "a1", "a2"]
    assert [(link.is_enabled, link.pixels, link.tag_rows) for link in links] == [(True, [], [])] * 3
    links[1].title = "Other"
    session.commit()
    assert [row_of(session, link.id)["title"] for link in links] == ["T", "Other", "U"]
    assert "other" in row_of(session, links[1].id)["search_text"]


@pytest.mark.databases
def test_an_id_that_was_rolled_back_is_used_again(alice: User, session: scoped_session[Session]) -> None:
    columns = {**access_of(alice).row_columns, "url": "abc", "location_url": "https://example.com/"}
    session.commit()
    gone, new = Link(**columns), Link(**{**columns, "url": "def"})
    insert_links([gone])
    used = gone.id
    session.rollback()
    insert_links([new])
    session.commit()
    is_same = new.id == used  # PostgreSQL gives it to nobody else
    assert is_same == (session.get_bind().dialect.name == "sqlite")
    assert session.get(Link, new.id) is new
    assert (new.url, gone in session) == ("def", not is_same)
