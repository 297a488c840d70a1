"""Bitmaps of links: marks follow every change, and what filters find is exact at any time."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping

import pytest
from sqlalchemy import Engine, Table, delete, func, insert, select, text, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User, Workspace
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.core.extensions import db
from app.dashboard.links import filters
from app.input.bitmaps import UNKNOWN, name_of
from app.input.blocks import BLOCK_BITS
from app.input.listing import Listing, find_page
from app.input.params import QueryParams, Several
from app.links import lists
from app.links.bitmaps import clicks, storage, upkeep
from app.links.bitmaps.tables import link_bitmap, stale_bitmap
from app.links.models import Link, LinkTag, link_notification_handler, link_pixel
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project
from tests.factories import Factory

pytestmark = pytest.mark.databases

SIZE = 1 << BLOCK_BITS
# two in the first block, none in the second, three in the third, one in the fifth
IDS = (7, SIZE - 1, 2 * SIZE, 2 * SIZE + 1, 3 * SIZE - 1, 4 * SIZE + 5)
OF_BOB = 8


@pytest.fixture(autouse=True)
def long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """So few links have bitmaps."""
    monkeypatch.setattr("app.input.selections.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.links.bitmaps.upkeep.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.input.listing.SIZES", (2,))


@pytest.fixture
def alice(make_user: Callable[..., User], factory: Factory, session: scoped_session[Session]) -> User:
    """Her links differ in all that filters ask."""
    user, other = make_user("alice@example.com"), make_user("bob@example.com")
    mine = access_of(user).row_columns
    session.add_all(
        [
            Project(id=4, **mine, name="Spring"),
            Pixel(id=5, **mine, type="social_a", name="Pixel", pixel="1"),
            NotificationHandler(id=6, **mine, type="email", name="Me", settings={"email": "a@example.com"}),
        ]
    )
    session.commit()
    for number, id_ in enumerate(IDS):
        factory.link(
            user,
            f"{chr(102 - number)}-{id_}",
            id=id_,
            tags=("red", f"of {number}")[: 1 + number % 2],
            is_enabled=number % 2 == 0,
            project_id=4 if number in {1, 2, 5} else None,
            targeting_type="rotation" if number in {0, 2} else None,
            targeting=[["rotation", "https://example.com"]] if number in {0, 2} else [],
            cloaking_is_enabled=number in {2, 5},
            password_hash="$argon2id$" if number == 3 else None,
            datetime=dt.datetime(2026, 1, 10 + number, 12, tzinfo=dt.UTC),
        )
        if number in {1, 4}:
            session.execute(insert(link_pixel).values(link_id=id_, pixel_id=5))
            session.execute(insert(link_notification_handler).values(link_id=id_, notification_handler_id=6))
    factory.link(other, "other", id=OF_BOB, tags=("red",))
    session.commit()
    return user


@pytest.fixture
def worker(alice: User) -> Iterator[Session]:
    """A session of the worker. All bitmaps are made."""
    engine = db.engine
    assert isinstance(engine, Engine)
    with Session(engine) as found:
        make_all(found)
        yield found


def make_all(worker: Session) -> None:
    for workspace_id in upkeep.long_lists(worker):
        blocks = {
            *upkeep.stale_blocks(worker, workspace_id),
            *upkeep.missing_blocks(worker, workspace_id),
        }
        upkeep.make_bitmaps(worker, workspace_id, sorted(blocks))
        for _ in clicks.renew_clicks(worker, workspace_id):
            pass


def stored(session: scoped_session[Session] | Session, table: Table) -> list[tuple[object, ...]]:
    found = [tuple(row) for row in session.execute(select(table))]
    session.rollback()
    return sorted(found, key=repr)


def stale(session: scoped_session[Session]) -> set[tuple[int, int]]:
    found = session.execute(select(stale_bitmap.c.workspace_id, stale_bitmap.c.block))
    return {(workspace_id, block) for workspace_id, block in found}


# ------------------------------------------------------------------------ marks

# a change, and the blocks that it makes stale
CHANGES: Mapping[str, tuple[Callable[[User], object], set[int]]] = {
    "nothing": (lambda user: text("SELECT 1"), set()),
    "on or off": (lambda user: update(Link).where(Link.id == 7).values(is_enabled=False), {0}),
    "a project": (lambda user: update(Link).where(Link.id.in_([7, 2 * SIZE + 1])).values(project_id=4), {0, 2}),
    "a project goes": (lambda user: delete(Project), {0, 2, 4}),
    "a password": (lambda user: update(Link).where(Link.id == 7).values(password_hash="x"), {0}),
    "a date": (lambda user: update(Link).where(Link.id == 7).values(datetime=dt.datetime(2020, 1, 1, tzinfo=dt.UTC)), {0}),
    "a tag": (lambda user: insert(LinkTag).values(link_id=2 * SIZE, tag="new", position=9), {2}),
    "a tag goes": (lambda user: delete(LinkTag).where(LinkTag.link_id == 7), {0}),
    "a pixel": (lambda user: insert(link_pixel).values(link_id=4 * SIZE + 5, pixel_id=5), {4}),
    "a pixel goes everywhere": (lambda user: delete(Pixel), {0, 2}),
    "a handler goes everywhere": (lambda user: delete(NotificationHandler), {0, 2}),
    "a link goes": (lambda user: delete(Link).where(Link.id == 4 * SIZE + 5), {4}),
    "a text that is searched": (lambda user: update(Link).where(Link.id == 7).values(search_text="x"), {0}),
    "notes": (lambda user: update(Link).where(Link.id == 7).values(search_notes="x"), {0}),
    "what no filter asks": (lambda user: update(Link).values(title="Another"), set()),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_marks_its_blocks(
    name: str, alice: User, worker: Session, session: scoped_session[Session]
) -> None:
    make, wanted = CHANGES[name]
    workspace_id = access_of(alice).workspace_id
    session.execute(make(alice))  # type: ignore[call-overload]
    session.commit()
    assert {block for id_, block in stale(session) if id_ == workspace_id} == wanted


def test_a_change_that_is_rolled_back_marks_nothing(
    alice: User, worker: Session, session: scoped_session[Session]
) -> None:
    session.execute(update(Link).values(is_enabled=False))
    session.rollback()
    assert stale(session) == set()


def test_a_link_that_moves_marks_both_workspaces(
    alice: User, worker: Session, session: scoped_session[Session]
) -> None:
    before = session.get_one(Link, OF_BOB).workspace_id
    session.execute(update(Link).where(Link.id == OF_BOB).values(**access_of(alice).row_columns))
    session.commit()
    assert stale(session) == {(before, 0), (access_of(alice).workspace_id, 0)}


def test_a_new_link_marks_its_block(
    alice: User, worker: Session, factory: Factory, session: scoped_session[Session]
) -> None:
    factory.link(alice, "new", id=9 * SIZE)
    assert stale(session) == {(access_of(alice).workspace_id, 9)}


@pytest.mark.parametrize("name", CHANGES)
def test_bitmaps_that_follow_are_those_made_anew(
    name: str, alice: User, worker: Session, session: scoped_session[Session]
) -> None:
    session.execute(CHANGES[name][0](alice))  # type: ignore[call-overload]
    session.commit()
    make_all(worker)
    assert stale(session) == set()
    followed = stored(worker, link_bitmap)
    worker.execute(delete(link_bitmap))
    worker.commit()
    make_all(worker)
    assert stored(worker, link_bitmap) == followed


def test_a_change_while_bitmaps_are_made_leaves_its_mark(
    alice: User, worker: Session, session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The bitmaps may be older than it then, so the block must be read or made again."""
    session.execute(update(Link).where(Link.id == 7).values(cloaking_is_enabled=True))
    session.commit()
    write = upkeep.write

    def change_first(*arguments: object) -> None:
        with Session(db.engine) as other:
            other.execute(update(Link).where(Link.id == 7).values(cloaking_is_enabled=False))
            other.commit()
        write(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(upkeep, "write", change_first)
    workspace_id = access_of(alice).workspace_id
    session.rollback()
    upkeep.make_bitmaps(worker, workspace_id, [0])
    assert stale(session) == {(workspace_id, 0)}
    assert ids_of(alice, filters.LISTING, {"rule": "cloaking"}) == [2 * SIZE, 4 * SIZE + 5]


def test_two_machines_do_not_make_bitmaps_at_once(
    alice: User, worker: Session, session: scoped_session[Session], settings: Settings
) -> None:
    session.execute(update(Link).values(is_enabled=False))
    session.commit()
    before = stored(worker, link_bitmap)
    with Session(db.engine) as other:
        assert storage.lock(other)
        upkeep.make_bitmaps(worker, access_of(alice).workspace_id, [0, 2, 4])
        is_made = stored(worker, link_bitmap) != before
    assert is_made is settings.is_sqlite  # there is one machine


def test_what_is_no_longer_long_is_forgotten(
    alice: User, worker: Session, session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.links.bitmaps.upkeep.LEAST_OF_PART", 3)
    session.execute(update(Link).values(is_enabled=False))
    session.commit()
    workspaces = upkeep.long_lists(worker)
    assert list(workspaces) == [access_of(alice).workspace_id]  # bob has one block
    session.rollback()
    upkeep.forget_others(worker, workspaces)
    for table in (link_bitmap, stale_bitmap):
        assert set(session.scalars(select(table.c.workspace_id))) == set(workspaces)


def test_bitmaps_go_with_their_workspace(
    alice: User, worker: Session, session: scoped_session[Session]
) -> None:
    workspace_id = access_of(alice).workspace_id
    session.execute(delete(Workspace).where(Workspace.id == workspace_id))
    session.commit()
    assert workspace_id not in set(session.scalars(select(link_bitmap.c.workspace_id)))


# -------------------------------------------------------------- what filters find

API, DASHBOARD = lists.LISTING, filters.LISTING
# what is asked, and the places in IDS of what is found
FILTERS: Mapping[str, tuple[Listing[Link], QueryParams, set[int]]] = {
    "on": (API, {"is_enabled": "true"}, {0, 2, 4}),
    "off": (API, {"is_enabled": "0"}, {1, 3, 5}),
    "a project": (API, {"project_id": "4"}, {1, 2, 5}),
    "no project": (API, {"project_id": "0"}, {0, 3, 4}),
    "a project that is not there": (API, {"project_id": "77"}, set()),
    "no domain": (API, {"domain_id": "0"}, {0, 1, 2, 3, 4, 5}),
    "a type, which all have": (API, {"type": "link", "is_enabled": "1"}, {0, 2, 4}),
    "a pixel": (API, {"pixel_id": "5"}, {1, 4}),
    "a tag": (API, {"tag": "red"}, {0, 1, 2, 3, 4, 5}),
    "a tag of one": (API, {"tag": "of 3"}, {3}),
    "a tag in another case": (API, {"tag": "RED"}, set()),
    "since a moment": (API, {"datetime_start": "2026-01-12 12:00:00"}, {2, 3, 4, 5}),
    "since after it": (API, {"datetime_start": "2026-01-12 12:00:01"}, {3, 4, 5}),
    "until a day": (API, {"datetime_end": "2026-01-11"}, {0, 1}),
    "until a moment": (API, {"datetime_end": "2026-01-14 12:00:00"}, {0, 1, 2, 3, 4}),
    "between two": (API, {"datetime_start": "2026-01-11", "datetime_end": "2026-01-13"}, {1, 2, 3}),
    "several filters": (API, {"is_enabled": "1", "project_id": "4", "tag": "red"}, {2}),
    "a rule": (DASHBOARD, {"rule": "cloaking"}, {2, 5}),
    "a kind of targeting": (DASHBOARD, {"rule": "rotation"}, {0, 2}),
    "a password": (DASHBOARD, {"rule": "password"}, {3}),
    "one of two rules": (DASHBOARD, {"rule": Several.of(("cloaking", "password"))}, {2, 3, 5}),
    "a handler": (DASHBOARD, {"handler_id": "6"}, {1, 4}),
    "not a project": (DASHBOARD, {"project_id": "4", "not": "project_id"}, {0, 3, 4}),
    "neither of two tags": (
        DASHBOARD,
        {"tag": Several.of(("of 1", "of 5")), "not": "tag"},
        {0, 2, 3, 4},
    ),
    "two of which one is excluded": (
        DASHBOARD,
        {"rule": "targeting", "project_id": "4", "not": Several.of(("rule",))},
        {1, 5},
    ),
}  # fmt: skip


def ids_of(user: User, listing: Listing[Link], params: QueryParams) -> list[int]:
    """The ids of all pages, each of two."""
    found: list[int] = []
    for page in range(1, 100):
        asked = {**params, "results_per_page": "2", "page": str(page)}
        rows = find_page(listing, access_of(user).workspace_id, asked).rows
        if not rows:
            break
        found += [row.id for row in rows]
    return found


@pytest.fixture(params=["made", "one is stale", "one is missing", "one has too many values"])
def state(request: pytest.FixtureRequest, worker: Session, monkeypatch: pytest.MonkeyPatch) -> str:
    """How far the worker is with the bitmaps."""
    if request.param == "one is stale":  # and would be wrong
        worker.execute(update(link_bitmap).where(link_bitmap.c.block == 2).values(bits=b""))
        worker.execute(update(Link).where(Link.id == 2 * SIZE).values(clicks_limit=5))
    elif request.param == "one is missing":
        worker.execute(delete(link_bitmap).where(link_bitmap.c.block == 0))
    elif request.param == "one has too many values":
        monkeypatch.setattr("app.links.bitmaps.contents.MOST_VALUES", 1)
        worker.execute(delete(link_bitmap))
        worker.commit()
        make_all(worker)
        unknown = name_of("tag", UNKNOWN)
        assert worker.scalar(select(func.count()).where(link_bitmap.c.name == unknown))
    worker.commit()
    return str(request.param)


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.usefixtures("state")
def test_what_filters_find(name: str, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.list_reading.count_parts", None)  # the way for lists without bitmaps
    listing, params, places = FILTERS[name]
    rising = [IDS[place] for place in sorted(places)]
    # names fall as ids and dates rise, and none was clicked
    for order_by, wanted in (
        *((name, rising) for name in ("", "clicks", "datetime")),
        ("url", rising[::-1]),
    ):
        asked = {**params, "order_by": order_by}
        assert ids_of(alice, listing, {**asked, "order_type": "ASC"}) == wanted
        assert ids_of(alice, listing, {**asked, "order_type": "DESC"}) == wanted[::-1]


USUAL: Mapping[str, QueryParams] = {
    "a short search": {"search": "1"},
    "a short search and a filter": {"search": "1", "is_enabled": "1"},
}


@pytest.mark.parametrize("name", USUAL)
def test_other_filters_are_counted_as_before(
    name: str, alice: User, worker: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.input.selections.Selection", None)
    assert ids_of(alice, DASHBOARD, USUAL[name])


def test_beyond_some_stale_blocks_the_list_is_read(
    alice: User, worker: Session, session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.input.selections.MOST_LIVE", 1)
    session.execute(update(Link).values(is_enabled=False))
    session.commit()
    monkeypatch.setattr("app.input.selections.Selection", None)
    assert ids_of(alice, API, {"is_enabled": "0"}) == list(IDS)


def test_short_lists_have_no_bitmaps(alice: User, worker: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.selections.LEAST_OF_PART", 4)
    monkeypatch.setattr("app.input.selections.read_stale", None)
    assert ids_of(alice, API, {"is_enabled": "0"}) == [IDS[1], IDS[3], IDS[5]]
