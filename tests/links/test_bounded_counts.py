"""What a search finds is counted until its page is full and the time is over; then pages follow one another."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.dashboard.links import filters
from app.input.blocks import BLOCK_BITS
from app.input.listing import Page, find_page
from app.links.models import Link
from tests.factories import Factory
from tests.links.test_bitmap_searches import search_with_bitmaps

pytestmark = pytest.mark.databases

BLOCKS = 6
IDS = [id_ for block in range(BLOCKS) for id_ in range((block << BLOCK_BITS) + 1, (block << BLOCK_BITS) + 4)]
RARE = [id_ for id_ in IDS if id_ % 3 == 0]
PAGE = 2
# by blocks that may have the text, or by parts of the list: where these blocks are too many, or nobody knows
WAYS = {"some blocks": 1, "parts of the list": BLOCKS + 1}


@pytest.fixture(autouse=True)
def long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("input.selections", "input.blocks", "links.bitmaps.upkeep"):
        monkeypatch.setattr(f"app.{module}.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.input.listing.SIZES", (PAGE,))


@pytest.fixture
def alice(
    make_user: Callable[..., User],
    factory: Factory,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> User:
    user = make_user("alice@example.com")
    for id_ in IDS:
        title = "rarely found" if id_ in RARE else None
        factory.link(user, f"link-{len(IDS) - IDS.index(id_):02}", id=id_, title=title)
    session.commit()
    search_with_bitmaps(user, monkeypatch)
    return user


@pytest.fixture(params=WAYS.values(), ids=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.selections.SEARCHED_PART", request.param)


def find(user: User, seconds: float, page: int = 1, **params: str) -> Page[Link]:
    wanted = {"search": "rarely", "results_per_page": str(PAGE), "page": str(page), **params}
    return find_page(filters.LISTING, access_of(user).workspace_id, wanted, count_seconds=seconds)


def pages(user: User, **params: str) -> Iterator[Page[Link]]:
    number: int | None = 1
    while number is not None:
        found = find(user, 0, number, **params)
        yield found
        number = found.next


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize("order_type", ["ASC", "DESC"])
def test_pages_follow_one_another(alice: User, order_type: str) -> None:
    found = list(pages(alice, order_type=order_type))
    ids = [row.id for page in found for row in page.rows]
    assert ids == (RARE if order_type == "ASC" else RARE[::-1])
    assert [page.is_all for page in found] == [False] * (len(found) - 1) + [True]
    assert all(PAGE < page.total <= len(RARE) for page in found)
    assert found[-1].total == len(RARE)


@pytest.mark.usefixtures("way")
def test_a_page_past_the_end_has_the_whole_total(alice: User) -> None:
    found = find(alice, 0, page=50)
    assert (list(found.rows), found.total, found.is_all) == ([], len(RARE), True)


@pytest.mark.usefixtures("way")
@pytest.mark.parametrize(
    ("seconds", "params"),
    [(inf, {}), (60, {}), (0, {"order_by": "url"}), (0, {"order_by": "clicks"})],
    ids=["without a bound", "in time", "by name", "by clicks"],
)
def test_all_are_counted(alice: User, seconds: float, params: dict[str, str]) -> None:
    found = find(alice, seconds, **params)
    assert (len(found.rows), found.total, found.is_all) == (PAGE, len(RARE), True)


@pytest.mark.usefixtures("way")
def test_nothing_is_found_only_after_all_was_searched(alice: User) -> None:
    found = find(alice, 0, search="nowhere")
    assert (list(found.rows), found.total, found.is_all) == ([], 0, True)
