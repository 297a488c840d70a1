"""The list of links: its filters, search and orders, how SQLite reads it, and the copies of clicks by which it is ordered."""

from __future__ import annotations

import datetime as dt
import unicodedata
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import pytest
import sqlalchemy as sa
from alembic import command
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User, Workspace
from app.accounts.workspaces import access_of
from app.analytics.models import Counter
from app.core.clock import now
from app.core.config import Settings
from app.core.database import prepare_engine
from app.core.errors import Invalid
from app.dashboard.links import filters as dashboard_filters
from app.input.listing import find_page
from app.links import clicks, removal, services
from app.links.clicks import ClickCopies
from app.links.lists import LISTING
from app.links.models import LimitCounter, link_clicks, link_pixel
from app.trash.services import find_batch
from tests.click_counts import store_clicks
from tests.factories import Factory
from tests.migrations import alembic_config
from tests.writes import write


def utc(*parts):
    return dt.datetime(*parts, tzinfo=dt.UTC)


@pytest.fixture
def links(session, alice, bob, make_link, make_pixel, make_domain, make_project):
    project = make_project(alice)
    domain = make_domain(alice, "a.example")
    pixel = make_pixel(alice)
    rows = {
        "a": make_link(alice, "Alpha", title="100% off_sale", datetime=utc(2026, 1, 1, 12), tags=("red",)),
        "b": make_link(alice, "beta", title="Straße ÄÖÜ", datetime=utc(2026, 1, 2, 12), project_id=project.id),
        "c": make_link(
            alice, "gamma", location_url="https://alpha.example/", is_enabled=False, datetime=utc(2026, 1, 3, 23, 59, 59),
            domain_id=domain.id, last_datetime=now(), tags=("red", "Red"),
        ),
        "z": make_link(bob, "alpha-of-bob", tags=("red",)),
    }  # fmt: skip
    session.execute(sa.insert(link_pixel).values(link_id=rows["b"].id, pixel_id=pixel.id))
    session.commit()
    return rows | {"project": project.id, "domain": domain.id, "pixel": pixel.id}


def asked(links, alice, **parameters):
    parameters = {name: str(links[value]) if value in {"project", "domain", "pixel"} else value
                  for name, value in parameters.items()}  # fmt: skip
    names = {links[name].id: name for name in "abcz"}
    return "".join(
        names[row.id] for row in find_page(LISTING, access_of(alice).workspace_id, parameters).rows
    )


QUESTIONS = [
    ({}, "abc"),
    ({"search": "alpha"}, "ac"),
    ({"search": "ALPHA", "search_by": "url"}, "a"),
    ({"search": "alpha", "search_by": "location_url"}, "c"),
    ({"search": "alpha", "search_by": "title"}, ""),
    ({"search": "%"}, "a"),
    ({"search": "f_s"}, "a"),
    ({"search": "\\"}, ""),
    ({"search": "äöü"}, "b"),
    ({"search": unicodedata.normalize("NFD", "äöü")}, "b"),
    ({"search": "STRASSE"}, "b"),
    ({"search": "straße", "search_by": "title"}, "b"),
    ({"search": "beta\nhttps"}, ""),
    ({"search": "a" * 2048}, ""),
    ({"search": "\U0001f600" * 2048}, ""),
    ({"type": "link"}, "abc"),
    ({"is_enabled": "0"}, "c"),
    ({"project_id": "project"}, "b"),
    ({"project_id": "0"}, "ac"),
    ({"domain_id": "domain"}, "c"),
    ({"domain_id": "0"}, "ab"),
    ({"pixel_id": "pixel"}, "b"),
    ({"tag": "red"}, "ac"),
    ({"tag": "Red"}, "c"),
    ({"tag": "re"}, ""),
    ({"datetime_start": "2026-01-02"}, "bc"),
    ({"datetime_start": "2026-01-02 12:00:00"}, "bc"),
    ({"datetime_start": "2026-01-02 12:00:01"}, "c"),
    ({"datetime_end": "2026-01-02"}, "ab"),
    ({"datetime_end": "2026-01-02 12:00"}, "ab"),
    ({"datetime_end": "2026-01-02 11:59:59"}, "a"),
    ({"datetime_end": "9999-12-31"}, "abc"),
    ({"search": "alpha", "tag": "red", "is_enabled": "0"}, "c"),
    ({"order_by": "link_id", "order_type": "DESC"}, "cba"),
    ({"order_by": "last_datetime"}, "abc"),
    ({"order_by": "last_datetime", "order_type": "DESC"}, "cba"),
    ({"order_by": "url", "order_type": "DESC"}, "cba"),
]


@pytest.mark.databases
def test_filters_and_orders(links, alice):
    found = [(parameters, asked(links, alice, **parameters)) for parameters, _ in QUESTIONS]
    assert found == QUESTIONS


WRONG = [("search_by", "notes"), ("type", "biolink"), ("is_enabled", "maybe"), ("project_id", "x"), ("project_id", "-1"),
("domain_id", "1.0"), ("pixel_id", str(2**63)), ("datetime_start", "2026-02-30"), ("datetime_end", "soon"),
("order_by", "title"), ("order_by", "links.id; --"), ("order_type", "up"), ("results_per_page", "11"), ("page", "0")]  # fmt: skip


@pytest.mark.databases
def test_what_cannot_be_asked(alice):
    for name, value in WRONG:
        with pytest.raises(Invalid) as caught:
            find_page(LISTING, access_of(alice).workspace_id, {name: value})
        assert [problem.field for problem in caught.value.errors] == [name], (name, value)


@pytest.mark.databases
def test_what_many_links_have_is_read_in_the_order_of_the_list(links, alice, monkeypatch):
    monkeypatch.setattr("app.links.lists.MAX_CANDIDATES", 0)
    assert asked(links, alice, search="alpha") == "ac"


@pytest.mark.databases
def test_a_search_that_takes_too_long(alice, monkeypatch):
    @contextmanager
    def end(_session, _seconds):
        raise TimeoutError
        yield

    monkeypatch.setattr("app.input.listing.time_bound", end)
    with pytest.raises(Invalid) as caught:
        find_page(LISTING, access_of(alice).workspace_id, {"search": "x"})
    assert [(one.field, one.code) for one in caught.value.errors] == [("search", "too_slow")]


@pytest.mark.databases
def test_the_index_follows_its_links(session, settings, links, alice):
    """Also those that are changed, deleted, restored, and deleted with their workspace."""
    workspace_id = access_of(alice).workspace_id
    store_clicks(settings, {links["a"].id: 3})
    batch = write(removal.delete, links["a"])
    assert asked(links, alice, search="off_sale") == ""
    assert asked(links, alice, search="alpha") == "c"
    removal.restore(find_batch(workspace_id, batch)[0])
    for name in "bc":
        services.update(links[name], {"location_url": "https://elsewhere.example/"})
    session.commit()
    assert asked(links, alice, search="elsewhere") == "bc"
    assert asked(links, alice, search="alpha") == "a"
    assert asked(links, alice, order_by="clicks") == "bca"
    session.execute(sa.delete(Workspace).where(Workspace.id == workspace_id))
    session.commit()
    assert session.scalars(sa.select(link_clicks.c.link_id)).all() == [links["z"].id]
    if settings.is_sqlite:  # raises an error where the index and the links differ
        session.execute(sa.text("INSERT INTO link_search (link_search, rank) VALUES ('integrity-check', 1)"))


def test_copies_follow_their_links(session, links, alice, monkeypatch):
    """A list along the index of clicks is filtered by copies of what lists filter by."""
    monkeypatch.setattr("app.input.listing.MAX_SORTED", 0)
    assert asked(links, alice, order_by="clicks", is_enabled="1") == "ab"
    write(services.update, links["b"], {"is_enabled": False})
    assert asked(links, alice, order_by="clicks", is_enabled="1") == "a"
    assert asked(links, alice, order_by="clicks", is_enabled="0") == "bc"


@pytest.mark.databases
def test_links_of_before_are_listed(session, settings, links, alice):
    """The migration that makes the index and the copies of clicks fills them."""
    a, b, c = (links[name].id for name in "abc")
    workspace_id = access_of(alice).workspace_id
    store_clicks(settings, {b: 7, c: 2})
    session.close()
    command.downgrade(alembic_config(), "3d7c0f92b8e4-1")
    command.upgrade(alembic_config(), "head")
    for params, wanted in (({"search": "off_sale"}, [a]), ({"order_by": "clicks"}, [a, c, b])):
        assert [row.id for row in find_page(LISTING, workspace_id, params).rows] == wanted


@pytest.mark.databases
def test_by_clicks(settings, session, links, alice):
    """Those that came through the journal, and those that a limit counts."""
    store_clicks(settings, {links["b"].id: 7, links["a"].id: 30})
    session.rollback()  # to read what is stored by now
    assert asked(links, alice, order_by="clicks", order_type="DESC") == "abc"
    session.add(LimitCounter(link_id=links["b"].id, clicks=5))
    session.commit()
    counter = session.get_one(LimitCounter, links["b"].id)
    for number, found in ((22, "cba"), (24, "cab")):
        counter.clicks = number
        session.commit()
        assert asked(links, alice, order_by="clicks") == found


# each pair of: the order's way, whether there is a filter, and whether rows are read along the index or sorted
PAGED = [
    ("ASC", {}, 0),
    ("DESC", {"is_enabled": "1"}, 0),
    ("ASC", {"is_enabled": "1"}, 1000),
    ("DESC", {}, 1000),
    ("ASC", {"search": "title"}, 0),
]


@pytest.mark.databases
@pytest.mark.parametrize(("how", "filters", "most_sorted"), PAGED)
def test_pages_hold_each_row_once_in_one_order(
    settings, session, alice, make_link, filters, how, most_sorted, monkeypatch
):
    """Also those of the second half, which are read from the end; many rows are alike."""
    monkeypatch.setattr("app.input.listing.MAX_SORTED", most_sorted)
    for number in range(37):
        make_link(
            alice,
            f"alias-{number * 7 % 37:02}",
            title=f"title {number % 3}",
            datetime=utc(2026, 1, 1 + number % 5),
            last_datetime=utc(2026, 2, 1 + number % 2) if number % 3 else None,
            is_enabled=number != 20,
        )
    store_clicks(settings, {number: number % 4 + 1 for number in range(1, 30, 2)})
    session.rollback()

    def ids(order, size, page):
        asked_for = {**filters, "order_by": order, "order_type": how}
        asked_for |= {"results_per_page": str(size), "page": str(page)}
        return [row.id for row in find_page(LISTING, access_of(alice).workspace_id, asked_for).rows]

    for order in LISTING.orders:
        whole = ids(order, 50, 1)
        assert len(whole) == (36 if "is_enabled" in filters else 37), order
        pages = [ids(order, 10, page) for page in range(1, 6)]
        assert pages == [whole[10 * n : 10 * n + 10] for n in range(5)], order


URLS, DATES, CHANGES, IDS = (
    f"SEARCH link USING COVERING INDEX ix_link_by_{name} (workspace_id=?"
    for name in ("url", "datetime", "last_datetime", "id")
)
SINCE, UNTIL = (DATES.replace("=?", f"=? AND datetime{sign}?") for sign in "><")
CLICKS = "SEARCH link_clicks USING COVERING INDEX ix_link_clicks_by_clicks (workspace_id=?"
PASSWORD = "SEARCH link USING INDEX ix_link_password (workspace_id=?"
SEARCH = "SEARCH link USING INDEX ix_link_by_id (workspace_id=? AND id=?"
# what is asked for, how links are counted, and how those of a page are found
PLANS: Mapping[str, tuple[dict[str, str], str, str]] = {
    "nothing": ({}, IDS, IDS),
    "a type": ({"type": "link"}, IDS, IDS),
    "by id": ({"order_by": "link_id"}, IDS, IDS),
    "by name": ({"order_by": "url"}, IDS, URLS),
    "by date": ({"order_by": "datetime"}, IDS, DATES),
    "by last change": ({"order_by": "last_datetime"}, IDS, CHANGES),
    "by clicks": ({"order_by": "clicks"}, IDS, CLICKS),
    "no project": ({"project_id": "0"}, IDS, IDS),
    "no domain": ({"domain_id": "0"}, IDS, IDS),
    "made since": ({"datetime_start": "2026-01-01"}, SINCE, IDS),
    "made until": ({"datetime_end": "9999-01-01", "project_id": "0"}, UNTIL, IDS),
    "active": ({"state": "active"}, IDS, IDS),
    "off": ({"state": "off"}, IDS, IDS),
    "targeted": ({"rule": "targeting"}, IDS, IDS),
    "cloaked": ({"rule": "cloaking"}, IDS, IDS),
    "with a password": ({"rule": "password"}, PASSWORD, PASSWORD),
    "by name, without a project": ({"project_id": "0", "order_by": "url"}, IDS, URLS),
    "by last change, of active ones": ({"state": "active", "order_by": "last_datetime"}, IDS, CHANGES),
    "a search": ({"search": "one"}, SEARCH, SEARCH),
}


@pytest.mark.parametrize("order_type", ["ASC", "DESC"])
def test_plans(order_type: str, alice: User, factory: Factory, session: scoped_session[Session]) -> None:
    rules = {"password_hash": "$argon2id$", "cloaking_is_enabled": True}
    factory.link(alice, "one", targeting_type="rotation", **rules)
    factory.link(alice, "off", is_enabled=False, **rules)
    session.commit()
    workspace_id = access_of(alice).workspace_id
    for name, (params, of_count, of_page) in PLANS.items():
        asked = asked_by(session, workspace_id, {**params, "order_type": order_type})
        counts = [
            one
            for one in asked
            if "count(*)" in one[0] and "FROM link_search" not in one[0].partition("WHERE")[0]
        ]
        pages = [one for one in asked if "count(*)" not in one[0] and "LIMIT" in one[0]]
        plans = [plan_of(session.connection(), statements[-1]) for statements in (counts, pages)]
        assert plans == [of_count + plans[0][len(of_count) :], of_page + plans[1][len(of_page) :]], name


def asked_by(
    session: scoped_session[Session], workspace_id: int, params: dict[str, str]
) -> list[tuple[str, Any]]:
    """The statements that find a page, with their values."""
    asked: list[tuple[str, Any]] = []

    def listen(_connection: Any, _cursor: Any, statement: str, values: Any, *_more: Any) -> None:
        asked.append((statement, values))

    connection = session.connection()
    sa.event.listen(connection, "before_cursor_execute", listen)
    find_page(dashboard_filters.LISTING, workspace_id, params)
    sa.event.remove(connection, "before_cursor_execute", listen)
    return asked


def plan_of(connection: sa.Connection, asked: tuple[str, Any]) -> str:
    """How a statement begins to read, in SQLite's words."""
    plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {asked[0]}", asked[1])
    return str(plan.first()[3])  # type: ignore[index]


@pytest.fixture
def engine(settings: Settings) -> Iterator[sa.Engine]:
    engine = sa.create_engine(settings.database_url)
    prepare_engine(engine, settings, clicks_mode="rw")
    yield engine
    engine.dispose()


@pytest.fixture
def ids(alice: User, factory: Factory) -> list[int]:
    return [factory.link(alice).id for _ in range(5)]


def count(engine: sa.Engine, counted: dict[int, int]) -> None:
    with engine.begin() as connection:
        rows = [{"link_id": id_, "clicks": number} for id_, number in counted.items()]
        connection.execute(sa.delete(Counter))
        connection.execute(sa.insert(Counter), rows)


def copied(session: scoped_session[Session]) -> list[int]:
    session.rollback()
    return list(session.scalars(sa.select(link_clicks.c.clicks).order_by(link_clicks.c.link_id)))


@pytest.mark.databases
def test_late_copies(
    engine: sa.Engine, ids: list[int], session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All are looked at in the beginning, then those that were clicked; a link that is gone has none."""
    monkeypatch.setattr(clicks, "LOOKED_AT", 2)
    session.add(LimitCounter(link_id=ids[1], clicks=5))
    session.commit()
    count(engine, {ids[0]: 3, ids[1]: 2, ids[4]: 1, 999: 7})
    copies, steps = ClickCopies(engine), 1
    while copies.step():
        steps += 1
    assert (steps, copied(session)) == (4, [3, 7, 0, 0, 1])
    count(engine, {ids[0]: 4, ids[1]: 9, ids[2]: 6})
    copies.add([ids[0], ids[2], 999])
    assert (copies.step(), copied(session)) == (False, [4, 7, 6, 0, 1])
    assert not copies.step()


@pytest.mark.databases
def test_a_copy_that_was_overtaken_changes_nothing(
    engine: sa.Engine, ids: list[int], session: scoped_session[Session]
) -> None:
    count(engine, {ids[0]: 3})
    clicks.copy_clicks(session, ids)
    session.commit()
    count(engine, {ids[0]: 2})
    clicks.copy_clicks(session, ids)
    session.commit()
    assert copied(session) == [3, 0, 0, 0, 0]


@pytest.mark.databases
def test_more_than_are_kept_in_memory(
    engine: sa.Engine, ids: list[int], session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(clicks, "MAX_LATE", 2)
    monkeypatch.setattr(clicks, "MAX_COPIED", 1)
    copies = ClickCopies(engine)
    while copies.step():
        pass
    count(engine, dict.fromkeys(ids, 8))
    copies.add(ids[:2])
    assert (copies.step(), copied(session)) == (True, [8, 0, 0, 0, 0])
    copies.add(ids[2:])
    while copies.step():
        pass
    assert (copies.late, copied(session)) == (set(), [8] * 5)
