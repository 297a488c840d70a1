"""Long lists by name and by last change: a page is found by how many links lie in which range of values."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType

import pytest
from sqlalchemy import delete, select, true, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.input.blocks import BLOCK_BITS
from app.input.listing import find_page
from app.input.ranged_order import OF_LIST, RangeBounds
from app.links.bitmaps import ranges, upkeep
from app.links.bitmaps.tables import link_bitmap
from app.links.lists import LISTING
from app.links.models import Link
from tests.factories import Factory

pytestmark = pytest.mark.databases

SIZE = 1 << BLOCK_BITS
# two in the first block, none in the second, three in the third, one in the fifth
IDS = (7, SIZE - 1, 2 * SIZE, 2 * SIZE + 1, 3 * SIZE - 1, 4 * SIZE + 5)
NAMES: Mapping[str, Sequence[str]] = {
    "rising": "abcdef",
    "falling": "fedcba",
    "mixed": ("d", "B", "ä", "a", "東京", "-"),
}
# the days of the last changes, 0 for none
DAYS: Mapping[str, Sequence[int]] = {
    "none was changed": (0, 0, 0, 0, 0, 0),
    "one was changed": (0, 0, 0, 3, 0, 0),
    "some were changed": (4, 0, 0, 2, 9, 0),
    "all were changed": (5, 2, 8, 1, 9, 3),
    "some at the same time": (5, 0, 5, 1, 5, 1),
    "all at the same time": (5, 5, 5, 5, 5, 5),
}


@pytest.fixture(autouse=True)
def long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.selections.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.links.bitmaps.upkeep.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.input.list_reading.NEAR", -1)


@pytest.fixture
def alice(make_user: Callable[..., User], factory: Factory, session: scoped_session[Session]) -> User:
    user, other = make_user("alice@example.com"), make_user("bob@example.com")
    for number, id_ in enumerate(IDS):
        factory.link(user, f"link-{number}", id=id_, is_enabled=id_ != IDS[3])
    factory.link(other, "other", id=8)
    session.commit()
    return user


@pytest.fixture
def only_ranges(monkeypatch: pytest.MonkeyPatch) -> None:
    """No page is read in another way."""
    monkeypatch.setattr("app.input.list_reading.read_from_nearer_end", None)


def make_bitmaps(user: User) -> None:
    with Session(db.engine) as worker:
        workspace_id = access_of(user).workspace_id
        db.session.rollback()
        ranges.set_bounds(worker, workspace_id)
        upkeep.make_bitmaps(worker, workspace_id, [0, 2, 4])


def set_values(column: str, values: Sequence[object]) -> None:
    for id_, value in zip(IDS, values, strict=True):
        db.session.execute(update(Link).where(Link.id == id_).values({column: value}))
    db.session.commit()


def moment(day: int) -> dt.datetime | None:
    return dt.datetime(2026, 1, day, 12, 30, 1, 999_999, tzinfo=dt.UTC) if day else None


def usual(order_by: str, params: Mapping[str, str]) -> list[int]:
    """The ids in the database's order."""
    column = LISTING.orders[order_by]
    found = Link.is_enabled if params else true()
    wanted = select(Link.id).where(Link.id.in_(IDS), found).order_by(column.asc().nulls_first(), Link.id)
    return list(db.session.scalars(wanted))


ON = {"is_enabled": "1"}


def assert_pages(
    user: User,
    order_by: str,
    monkeypatch: pytest.MonkeyPatch,
    params: Mapping[str, str] = MappingProxyType({}),
) -> None:
    rising = usual(order_by, params)
    for size in (1, 2, 25):
        monkeypatch.setattr("app.input.listing.SIZES", (size,))
        for order_type, wanted in (("ASC", rising), ("DESC", rising[::-1])):
            asked = {**params, "order_by": order_by, "order_type": order_type, "results_per_page": str(size)}
            for start in range(0, len(wanted), size):
                page = str(start // size + 1)
                found = find_page(LISTING, access_of(user).workspace_id, {**asked, "page": page})
                assert [row.id for row in found.rows] == wanted[start : start + size]
                assert found.total == len(wanted)


@pytest.mark.usefixtures("only_ranges")
@pytest.mark.parametrize("name", NAMES)
def test_by_name(name: str, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    set_values("url", NAMES[name])
    make_bitmaps(alice)
    assert_pages(alice, "url", monkeypatch)


@pytest.mark.usefixtures("only_ranges")
@pytest.mark.parametrize("name", DAYS)
def test_by_last_change(name: str, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    set_values("last_datetime", [moment(day) for day in DAYS[name]])
    make_bitmaps(alice)
    assert_pages(alice, "last_datetime", monkeypatch)


@pytest.mark.usefixtures("only_ranges")
@pytest.mark.parametrize("name", DAYS)
def test_by_date(name: str, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.list_reading.read_by_moment", lambda *_asked, **_options: None)
    set_values("datetime", [moment(day or 1) for day in DAYS[name]])
    make_bitmaps(alice)
    assert_pages(alice, "datetime", monkeypatch)


def test_very_many_with_the_same_value_are_walked_along(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    set_values("last_datetime", [moment(5)] * len(IDS))
    make_bitmaps(alice)
    monkeypatch.setattr("app.input.ranged_order.LONGEST_WALK", -1)
    monkeypatch.setattr("app.input.ranged_order.RangedColumn.from_range", None)
    assert_pages(alice, "last_datetime", monkeypatch)
    monkeypatch.undo()
    monkeypatch.setattr("app.input.selections.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.input.list_reading.MOST_NAMED", 0)
    monkeypatch.setattr("app.input.ranged_selection.MOST_SORTED", 0)
    monkeypatch.setattr("app.input.ranged_selection.ENTRIES", -SIZE)
    assert_pages(alice, "last_datetime", monkeypatch, ON)
    monkeypatch.setattr("app.input.ranged_selection.MOST_NAMED", 0)
    monkeypatch.setattr("app.input.ranged_selection.LONGEST_WALK", -SIZE)
    assert_pages(alice, "last_datetime", monkeypatch, ON)


@pytest.mark.usefixtures("only_ranges")
@pytest.mark.parametrize("name", DAYS)
def test_blocks_that_are_stale(name: str, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their values are read; the bounds are those of other values."""
    set_values("last_datetime", [moment(day) for day in DAYS["some were changed"]])
    make_bitmaps(alice)
    set_values("last_datetime", [moment(day) for day in DAYS[name]])
    set_values("url", NAMES["mixed"])
    for order_by in ("last_datetime", "url"):
        assert_pages(alice, order_by, monkeypatch)


@pytest.mark.usefixtures("only_ranges")
@pytest.mark.parametrize("most_sorted", [0, 2, 10_000], ids=["walking", "of short ranges", "sorting"])
@pytest.mark.parametrize("made", ["before", "after"])
@pytest.mark.parametrize("name", DAYS)
def test_what_a_filter_finds(
    name: str, made: str, most_sorted: int, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.input.list_reading.MOST_NAMED", 0)
    monkeypatch.setattr("app.input.list_reading.read_by_moment", lambda *_asked, **_options: None)
    monkeypatch.setattr("app.input.ranged_selection.MOST_SORTED", most_sorted)
    set_values("last_datetime", [moment(day) for day in DAYS["some were changed"]])
    make_bitmaps(alice)
    set_values("last_datetime", [moment(day) for day in DAYS[name]])
    set_values("datetime", [moment(day or 1) for day in DAYS[name]])
    set_values("url", NAMES["mixed"])
    if made == "after":
        make_bitmaps(alice)
    for order_by in ("last_datetime", "datetime", "url"):
        assert_pages(alice, order_by, monkeypatch, ON)


@pytest.mark.usefixtures("only_ranges")
def test_links_that_go(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bitmaps(alice)
    db.session.execute(delete(Link).where(Link.id.in_(IDS[1:4])))
    db.session.commit()
    assert_pages(alice, "url", monkeypatch)


@pytest.mark.usefixtures("only_ranges")
def test_new_bounds_have_all_blocks_counted(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    set_values("url", NAMES["rising"])
    make_bitmaps(alice)
    set_values("url", NAMES["mixed"])
    workspace_id = access_of(alice).workspace_id
    with Session(db.engine) as worker:
        assert ranges.uncounted_blocks(worker, workspace_id) == set()
        assert not ranges.set_bounds(worker, workspace_id)  # for the ranges are short
        monkeypatch.setattr(ranges, "LONGEST_RANGE", 0)
        monkeypatch.setattr(ranges, "UNEVEN", 0)
        db.session.rollback()
        assert ranges.set_bounds(worker, workspace_id)
        assert ranges.uncounted_blocks(worker, workspace_id) == {0, 2, 4}
        assert not ranges.set_bounds(worker, workspace_id)  # they are the same as before
    assert_pages(alice, "url", monkeypatch)  # each block is read
    with Session(db.engine) as worker:
        db.session.rollback()
        upkeep.make_bitmaps(worker, workspace_id, [0, 2, 4])
        assert ranges.uncounted_blocks(worker, workspace_id) == set()
    assert_pages(alice, "url", monkeypatch)


USUAL: Mapping[str, Callable[[Session], object]] = {
    "no bounds": lambda worker: worker.execute(delete(link_bitmap).where(link_bitmap.c.block == OF_LIST)),
    "too many blocks to read": lambda worker: worker.execute(
        delete(link_bitmap).where(link_bitmap.c.name.in_(["url", "slices of url"]))
    ),
    "too many stale blocks": lambda worker: worker.execute(update(Link).values(is_enabled=False)),
}


@pytest.mark.parametrize("params", [{}, ON], ids=["the whole list", "a filter"])
@pytest.mark.parametrize("name", USUAL)
def test_else_the_list_is_walked_along(
    name: str, params: Mapping[str, str], alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.input.list_reading.MOST_NAMED", 0)
    for module in ("ranged_order", "ranged_selection"):
        monkeypatch.setattr(f"app.input.{module}.MOST_LIVE", 2)
    set_values("url", NAMES["mixed"])
    make_bitmaps(alice)
    with Session(db.engine) as worker:
        USUAL[name](worker)
        worker.commit()
    monkeypatch.setattr("app.input.ranged_order.RangedList.read_with_value", None)
    monkeypatch.setattr("app.input.ranged_selection.RangedSelection.find", None)
    assert_pages(alice, "url", monkeypatch, params)


def test_near_an_end_the_list_is_walked_along(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    make_bitmaps(alice)
    monkeypatch.setattr("app.input.list_reading.NEAR", 3)
    monkeypatch.setattr("app.input.list_reading.RangedList", None)
    assert_pages(alice, "url", monkeypatch)


@pytest.mark.parametrize("values", [[], [1, 5], ["a", "ä", "東京"]])
def test_bounds_are_stored_as_they_are(values: list[object]) -> None:
    bounds = RangeBounds.of(values)
    assert RangeBounds.parse(bounds.dump()) == bounds
    assert bounds.version != RangeBounds.of([*values, 9]).version
