"""Long lists by clicks: of which few links were clicked, so that the rest comes by its ids, or very many."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import pytest
from sqlalchemy import delete, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.core.extensions import db
from app.input.blocks import BLOCK_BITS, read_blocks
from app.input.listing import find_page
from app.links.bitmaps import clicks, upkeep
from app.links.lists import LISTING
from app.links.models import LimitCounter, Link, link_block
from tests.click_counts import store_clicks
from tests.factories import Factory

pytestmark = pytest.mark.databases

SIZE = 1 << BLOCK_BITS
# two in the first block, none in the second, three in the third, one in the fifth
IDS = (7, SIZE - 1, 2 * SIZE, 2 * SIZE + 1, 3 * SIZE - 1, 4 * SIZE + 5)
OF_BOB, GONE = 8, 2 * SIZE + 2
# link → its clicks in the journal's counter, and those that a limit counted
CLICKS: Mapping[str, Mapping[int, tuple[int, int]]] = {
    "none": {},
    "of one": {IDS[2]: (3, 0)},
    "of one that is limited": {IDS[3]: (0, 4)},
    "of the first and the last": {IDS[0]: (1, 0), IDS[-1]: (9, 0)},
    "as many for two": {IDS[1]: (5, 0), IDS[4]: (5, 0), IDS[5]: (6, 0)},
    "in both counts": {IDS[1]: (2, 3), IDS[2]: (4, 0), IDS[3]: (0, 6), IDS[4]: (1, 3)},
    "counters at 0": {IDS[1]: (0, 0), IDS[2]: (1, 0)},
    "of another workspace": {OF_BOB: (100, 7), IDS[4]: (2, 0)},
    "of a link that is gone": {GONE: (100, 7), IDS[4]: (2, 0)},
    "of all": dict(zip(IDS, [(4, 0), (1, 0), (4, 0), (2, 2), (7, 0), (1, 0)], strict=True)),
}

Count = Callable[[Mapping[int, tuple[int, int]]], None]


@pytest.fixture
def alice(make_user: Callable[..., User], factory: Factory, session: scoped_session[Session]) -> User:
    user, other = make_user("alice@example.com"), make_user("bob@example.com")
    for id_ in IDS:
        factory.link(user, str(id_), id=id_)
    factory.link(other, "other", id=OF_BOB)
    session.commit()
    return user


@pytest.fixture
def long_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many links are a long list."""
    monkeypatch.setattr("app.input.counted_order.LEAST_OF_PART", 1)


@pytest.fixture
def count(settings: Settings, session: scoped_session[Session]) -> Count:
    """Stores clicks as in `CLICKS`."""

    def store(clicks: Mapping[int, tuple[int, int]]) -> None:
        limited = {id_: found for id_, (_, found) in clicks.items() if found and id_ != GONE}
        for id_, found in limited.items():
            session.add(LimitCounter(link_id=id_, clicks=found))
        session.commit()
        store_clicks(
            settings, {id_: found for id_, (found, _) in clicks.items() if found or id_ not in limited}
        )

    return store


@pytest.mark.usefixtures("long_list")
@pytest.mark.parametrize("near", [0, 2, 10_000])
@pytest.mark.parametrize("size", [1, 2, 4, 25])
@pytest.mark.parametrize("name", CLICKS)
def test_all_pages(
    name: str,
    size: int,
    near: int,
    alice: User,
    count: Count,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.input.counted_order.NEAR", near)
    monkeypatch.setattr("app.input.listing.SIZES", (size,))
    monkeypatch.setattr("app.input.list_reading.read_from_nearer_end", None)  # the way for other lists
    count(CLICKS[name])
    rising = sorted(IDS, key=lambda id_: (sum(CLICKS[name].get(id_, ())), id_))
    for order_type, wanted in (("ASC", rising), ("DESC", rising[::-1])):
        asked = {"order_by": "clicks", "order_type": order_type, "results_per_page": str(size)}
        pages = [wanted[start : start + size] for start in range(0, len(IDS), size)]
        for number, page in enumerate([*pages, []], start=1):
            found = find_page(LISTING, access_of(alice).workspace_id, {**asked, "page": str(number)})
            assert [row.id for row in found.rows] == page
            assert found.total == len(IDS)


@pytest.mark.usefixtures("long_list")
@pytest.mark.parametrize("name", CLICKS)
def test_all_pages_of_what_a_filter_finds(
    name: str, alice: User, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.input.selections.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.input.list_reading.read_sliced", None)
    monkeypatch.setattr("app.input.list_reading.read_from_nearer_end", None)
    count(CLICKS[name])
    db.session.execute(update(Link).where(Link.id.in_((IDS[0], IDS[3]))).values(is_enabled=False))
    db.session.commit()
    with Session(db.engine) as worker:
        upkeep.make_bitmaps(worker, access_of(alice).workspace_id, [0, 2, 4])
    db.session.rollback()
    on = [id_ for id_ in IDS if id_ not in (IDS[0], IDS[3])]
    rising = sorted(on, key=lambda id_: (sum(CLICKS[name].get(id_, ())), id_))
    for size in (1, 3, 25):
        monkeypatch.setattr("app.input.listing.SIZES", (size,))
        for order_type, wanted in (("ASC", rising), ("DESC", rising[::-1])):
            asked = {"is_enabled": "1", "order_type": order_type, "results_per_page": str(size)}
            assert pages(alice, **asked) == in_pages(wanted, size)


USUAL = {
    "most links have clicks": ({IDS[0]: (1, 0), IDS[1]: (1, 0)}, {}),
    "most links have a limit": ({IDS[0]: (0, 1), IDS[1]: (0, 1)}, {}),
    "a filter": ({}, {"is_enabled": "1"}),
    "another order": ({}, {"order_by": "url"}),
}


@pytest.mark.usefixtures("long_list")
@pytest.mark.parametrize("name", USUAL)
def test_other_lists_are_read_in_the_usual_way(
    name: str, alice: User, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    clicks, asked = USUAL[name]
    monkeypatch.setattr("app.input.counted_order.MOST", 1)
    monkeypatch.setattr("app.input.list_reading.CountedList", None)
    count(clicks)
    found = find_page(LISTING, access_of(alice).workspace_id, {"order_by": "clicks", **asked})
    assert {row.id for row in found.rows} == set(IDS)


def test_short_lists_are_read_in_the_usual_way(alice: User) -> None:
    """They take no time, and would need more queries."""
    blocks = read_blocks(link_block, access_of(alice).workspace_id)
    assert not LISTING.counted["clicks"].are_few(blocks)


# ---------------------------------------------------- where very many links were clicked


@pytest.fixture
def very_many(monkeypatch: pytest.MonkeyPatch) -> None:
    """So many counts are too many to sort."""
    monkeypatch.setattr("app.input.counted_order.MOST", -1)
    monkeypatch.setattr("app.input.selections.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.links.bitmaps.upkeep.LEAST_OF_PART", 1)


def make_slices() -> None:
    """One round of the worker through all clicks."""
    with Session(db.engine) as worker:
        for workspace_id in upkeep.long_lists(worker):
            upkeep.make_bitmaps(worker, workspace_id, [id_ >> BLOCK_BITS for id_ in IDS])
            for _ in clicks.renew_clicks(worker, workspace_id):
                assert not worker.in_transaction()


def pages(user: User, **asked: str) -> list[list[int]]:
    """The ids of each page until one is empty."""
    found: list[list[int]] = []
    while not found or found[-1]:
        params = {"order_by": "clicks", **asked, "page": str(len(found) + 1)}
        found.append([row.id for row in find_page(LISTING, access_of(user).workspace_id, params).rows])
    return found[:-1]


def in_pages(ids: Sequence[int], size: int) -> list[list[int]]:
    return [list(ids[start : start + size]) for start in range(0, len(ids), size)]


@pytest.mark.usefixtures("very_many")
@pytest.mark.parametrize("group_bits", [0, 1, 4])
@pytest.mark.parametrize("size", [1, 2, 25])
@pytest.mark.parametrize("name", CLICKS)
def test_pages_that_slices_tell(
    name: str, size: int, group_bits: int, alice: User, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.input.sliced_order.GROUP_BITS", group_bits)
    monkeypatch.setattr("app.input.sliced_order.SIZE", SIZE << group_bits)
    monkeypatch.setattr("app.input.listing.SIZES", (size,))
    monkeypatch.setattr("app.input.list_reading.read_from_nearer_end", None)  # the way for other lists
    monkeypatch.setattr("app.input.bit_slices.FEW", 1)
    count(CLICKS[name])
    make_slices()
    rising = sorted(IDS, key=lambda id_: (sum(CLICKS[name].get(id_, ())), id_))
    for order_type, wanted in (("ASC", rising), ("DESC", rising[::-1])):
        found = pages(alice, order_type=order_type, results_per_page=str(size))
        assert found == in_pages(wanted, size)


@pytest.mark.usefixtures("very_many")
def test_new_clicks_are_in_their_place_after_the_next_round(
    alice: User, count: Count, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.input.listing.SIZES", (2,))
    count({IDS[0]: (9, 0), IDS[1]: (8, 0), IDS[2]: (7, 0), IDS[3]: (6, 0), IDS[4]: (5, 0)})
    make_slices()
    before = list(IDS)
    asked = {"order_type": "DESC", "results_per_page": "2"}
    assert pages(alice, **asked) == in_pages(before, 2)
    store_clicks(settings, {IDS[5]: 100})
    db.session.rollback()
    # no link is missing or on two pages, and each page is in order by itself
    assert pages(alice, **asked) == [[IDS[0], IDS[1]], [IDS[2], IDS[3]], [IDS[5], IDS[4]]]
    make_slices()
    db.session.rollback()
    assert pages(alice, **asked) == in_pages([IDS[5], *IDS[:5]], 2)


@pytest.mark.usefixtures("very_many")
def test_links_that_go_and_come_between_rounds(
    alice: User, count: Count, factory: Factory, session: scoped_session[Session]
) -> None:
    count({IDS[0]: (3, 0), IDS[2]: (9, 0)})
    make_slices()
    session.execute(delete(Link).where(Link.id == IDS[1]))
    factory.link(alice, "new", id=4 * SIZE + 6)
    session.commit()
    wanted = [IDS[3], IDS[4], IDS[5], 4 * SIZE + 6, IDS[0], IDS[2]]
    assert pages(alice) == [wanted]


@pytest.mark.usefixtures("very_many")
@pytest.mark.parametrize("most_live", [0, 1])
def test_slices_that_are_not_made_yet(
    most_live: int, alice: User, count: Count, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of few groups the counts are read; else the list is sorted."""
    monkeypatch.setattr("app.input.sliced_order.MOST_LIVE", most_live)
    count({IDS[0]: (3, 0), IDS[2]: (9, 0)})
    with Session(db.engine) as worker:
        upkeep.make_bitmaps(worker, access_of(alice).workspace_id, [0, 2, 4])
    db.session.rollback()
    assert pages(alice) == [[IDS[1], IDS[3], IDS[4], IDS[5], IDS[0], IDS[2]]]


@pytest.mark.usefixtures("very_many")
def test_a_round_makes_only_what_has_changed(
    alice: User, count: Count, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.input.sliced_order.GROUP_BITS", 0)
    monkeypatch.setattr("app.input.sliced_order.SIZE", SIZE)
    count({IDS[0]: (3, 0), IDS[2]: (9, 0), IDS[5]: (1, 0)})
    make_slices()
    made: list[int] = []
    monkeypatch.setattr(clicks, "make_slices", lambda _session, _id, number: made.append(number))
    store_clicks(settings, {IDS[1]: 2, IDS[3]: 20})
    with Session(db.engine) as worker:
        for _ in clicks.renew_clicks(worker, access_of(alice).workspace_id):
            pass
    assert made == [2, 0]  # the one with the most new clicks first
