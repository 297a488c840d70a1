"""Long lists by clicks, of which few links were clicked: the rest comes by its ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.input.blocks import BLOCK_BITS, read_blocks
from app.input.listing import find_page
from app.links.lists import LISTING
from app.links.models import LimitCounter, link_block
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
    """So many links are a long list, and so many counts are few."""
    monkeypatch.setattr("app.input.counted_order.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.input.counted_order.FEW", 1)


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
    monkeypatch.setattr("app.input.listing.read_from_nearer_end", None)  # the way for other lists
    count(CLICKS[name])
    rising = sorted(IDS, key=lambda id_: (sum(CLICKS[name].get(id_, ())), id_))
    for order_type, wanted in (("ASC", rising), ("DESC", rising[::-1])):
        asked = {"order_by": "clicks", "order_type": order_type, "results_per_page": str(size)}
        pages = [wanted[start : start + size] for start in range(0, len(IDS), size)]
        for number, page in enumerate([*pages, []], start=1):
            found = find_page(LISTING, access_of(alice).workspace_id, {**asked, "page": str(number)})
            assert [row.id for row in found.rows] == page
            assert found.total == len(IDS)


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
    monkeypatch.setattr("app.input.counted_order.FEW", 5)  # of six links: one may have clicks
    monkeypatch.setattr("app.input.listing.CountedList", None)
    count(clicks)
    found = find_page(LISTING, access_of(alice).workspace_id, {"order_by": "clicks", **asked})
    assert {row.id for row in found.rows} == set(IDS)


def test_short_lists_are_read_in_the_usual_way(alice: User) -> None:
    """They take no time, and would need more queries."""
    blocks = read_blocks(link_block, access_of(alice).workspace_id)
    assert not LISTING.counted["clicks"].are_few(blocks)
