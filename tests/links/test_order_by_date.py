"""What a filter finds of a long list, by date: only the page's blocks are read where dates do not overlap."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence

import pytest
from sqlalchemy import delete, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.input.blocks import BLOCK_BITS
from app.input.listing import find_page
from app.input.moment_order import BlockMoments, clusters
from app.links.bitmaps import upkeep
from app.links.lists import LISTING
from app.links.models import Link
from tests.factories import Factory

SIZE = 1 << BLOCK_BITS
# two in the first block, none in the second, three in the third, one in the fifth
IDS = (7, SIZE - 1, 2 * SIZE, 2 * SIZE + 1, 3 * SIZE - 1, 4 * SIZE + 5)
ON = [id_ for id_ in IDS if id_ != IDS[3]]  # what the filter finds
# the days of these links, and how many clusters their blocks make
DAYS: Mapping[str, tuple[Sequence[int], int]] = {
    "rising": ((1, 2, 3, 4, 5, 6), 3),
    "falling": ((6, 5, 4, 3, 2, 1), 3),
    "all the same": ((1, 1, 1, 1, 1, 1), 3),
    "blocks that touch": ((1, 2, 2, 2, 3, 3), 3),
    "two that overlap": ((1, 3, 2, 4, 5, 6), 2),
    "all overlap": ((1, 6, 2, 3, 4, 5), 1),
    "one within another": ((1, 4, 5, 9, 6, 7), 2),
    "mixed": ((5, 5, 1, 9, 1, 3), 1),
}


@pytest.fixture(autouse=True)
def long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.selections.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.links.bitmaps.upkeep.LEAST_OF_PART", 1)


@pytest.fixture
def alice(make_user: Callable[..., User], factory: Factory, session: scoped_session[Session]) -> User:
    user, other = make_user("alice@example.com"), make_user("bob@example.com")
    for id_ in IDS:
        factory.link(user, str(id_), id=id_, is_enabled=id_ != IDS[3])
    factory.link(other, "other", id=8)
    session.commit()
    return user


def moment(day: int) -> dt.datetime:
    return dt.datetime(2026, 1, day, tzinfo=dt.UTC)


def set_days(days: Sequence[int]) -> None:
    for id_, day in zip(IDS, days, strict=True):
        db.session.execute(update(Link).where(Link.id == id_).values(datetime=moment(day)))
    db.session.commit()


def make_bitmaps(user: User) -> None:
    with Session(db.engine) as worker:
        workspace_id = access_of(user).workspace_id
        db.session.rollback()
        upkeep.make_bitmaps(worker, workspace_id, [0, 2, 4])


def in_order(days: Sequence[int], ids: Sequence[int] = IDS) -> list[int]:
    by_id = dict(zip(IDS, days, strict=True))
    return sorted(ids, key=lambda id_: (by_id[id_], id_))


@pytest.mark.databases
@pytest.mark.parametrize("name", DAYS)
def test_far_pages_of_the_whole_list(name: str, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.list_reading.NEAR", -1)
    monkeypatch.setattr("app.input.list_reading.RangedList", None)
    monkeypatch.setattr("app.input.list_reading.read_from_nearer_end", None)
    monkeypatch.setattr("app.input.listing.SIZES", (2,))
    days, _ = DAYS[name]
    set_days(days)
    make_bitmaps(alice)
    wanted = in_order(days)
    for page in (1, 2, 3):
        asked = {"order_by": "datetime", "results_per_page": "2", "page": str(page)}
        found = find_page(LISTING, access_of(alice).workspace_id, asked)
        assert [row.id for row in found.rows] == wanted[2 * page - 2 : 2 * page]


def assert_pages(user: User, size: int, rising: Sequence[int]) -> None:
    for order_type, wanted in (("ASC", list(rising)), ("DESC", list(rising)[::-1])):
        params = {
            "is_enabled": "1",
            "order_by": "datetime",
            "order_type": order_type,
            "results_per_page": str(size),
        }
        for start in range(0, len(wanted), size):
            page = str(start // size + 1)
            found = find_page(LISTING, access_of(user).workspace_id, {**params, "page": page})
            assert [row.id for row in found.rows] == wanted[start : start + size]
            assert found.total == len(wanted)


@pytest.mark.databases
@pytest.mark.parametrize("most", [0, 2, 10_000], ids=["walking", "of small clusters", "of clusters"])
@pytest.mark.parametrize("name", DAYS)
def test_all_pages(name: str, most: int, alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.moment_order.MOST", most)
    if most > len(IDS):
        monkeypatch.setattr("app.input.list_reading.read_from_nearer_end", None)
    days, _ = DAYS[name]
    set_days(days)
    make_bitmaps(alice)
    for size in (1, 2, 25):
        monkeypatch.setattr("app.input.listing.SIZES", (size,))
        assert_pages(alice, size, in_order(days, ON))


@pytest.mark.databases
def test_a_block_that_is_stale(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its moments are read from the links."""
    monkeypatch.setattr("app.input.listing.SIZES", (2,))
    set_days(DAYS["rising"][0])
    make_bitmaps(alice)
    days = (8, 9, *DAYS["rising"][0][2:])
    set_days(days)
    assert_pages(alice, 2, in_order(days, ON))


@pytest.mark.databases
def test_a_link_that_goes(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.listing.SIZES", (2,))
    days = DAYS["mixed"][0]
    set_days(days)
    make_bitmaps(alice)
    db.session.execute(delete(Link).where(Link.id.in_(IDS[4:])))
    db.session.commit()
    assert_pages(alice, 2, in_order(days, IDS[:3]))


@pytest.mark.parametrize("name", DAYS)
def test_clusters(name: str) -> None:
    days, wanted = DAYS[name]
    by_block: dict[int, list[int]] = {}
    for id_, day in zip(IDS, days, strict=True):
        by_block.setdefault(id_ >> BLOCK_BITS, []).append(day)
    found = list(clusters(BlockMoments.of(block, min(some), max(some)) for block, some in by_block.items()))
    assert len(found) == wanted
    assert sorted(number for some in found for number in some) == [0, 2, 4]
    before = (0, 0)
    for some in found:  # all of one come before those of the next
        places = [(day, id_) for id_, day in zip(IDS, days, strict=True) if id_ >> BLOCK_BITS in some]
        assert before < min(places)
        before = max(places)
