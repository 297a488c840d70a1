"""Blocks of links: the counts are exact after every kind of change, and pages are those that reading all gives."""

from __future__ import annotations

import datetime as dt
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy import delete, select, text, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User, Workspace
from app.accounts.workspaces import access_of
from app.input.blocks import BLOCK_BITS, Block, ListPart, PageStart, find_page_start, read_blocks, split
from app.input.listing import find_page
from app.input.page_reading import Reach
from app.links.lists import LISTING
from app.links.models import Link, LinkTag, link_block
from tests.factories import Factory

pytestmark = pytest.mark.databases

SIZE = 1 << BLOCK_BITS
# two in the first block, none in the second, three in the third, one in the fifth
IDS = (7, SIZE - 1, 2 * SIZE, 2 * SIZE + 1, 3 * SIZE - 1, 4 * SIZE + 5)
STARTS = {
    "the first": (0, True, PageStart(0, SIZE - 1, 0)),
    "the last of a block": (1, True, PageStart(0, SIZE - 1, 1)),
    "the first of another": (2, True, PageStart(2 * SIZE, 3 * SIZE - 1, 0)),
    "the very last": (5, True, PageStart(4 * SIZE, 5 * SIZE - 1, 0)),
    "the newest": (0, False, PageStart(4 * SIZE, 5 * SIZE - 1, 0)),
    "from the end into a block": (3, False, PageStart(2 * SIZE, 3 * SIZE - 1, 2)),
    "the oldest": (5, False, PageStart(0, SIZE - 1, 1)),
}


@pytest.fixture
def alice(make_user: Callable[..., User], factory: Factory, session: scoped_session[Session]) -> User:
    user, other = make_user("alice@example.com"), make_user("bob@example.com")
    for id_ in IDS:
        factory.link(user, str(id_), id=id_)
    factory.link(other, "other", id=8)
    session.commit()
    return user


def counted(session: scoped_session[Session]) -> dict[tuple[int, int], int]:
    found = session.execute(select(link_block.c.workspace_id, link_block.c.block, link_block.c.size))
    return {(workspace_id, block): size for workspace_id, block, size in found}


def real(session: scoped_session[Session]) -> dict[tuple[int, int], int]:
    rows = session.execute(select(Link.workspace_id, Link.id))
    return dict(Counter((workspace_id, id_ >> BLOCK_BITS) for workspace_id, id_ in rows))


CHANGES = {
    "links that are made": lambda user: text("SELECT 1"),
    "one is deleted": lambda user: delete(Link).where(Link.id == 7),
    "a block's last one is deleted": lambda user: delete(Link).where(Link.id == 4 * SIZE + 5),
    "many are deleted": lambda user: delete(Link).where(Link.id > 7),
    "one goes to another workspace": lambda user: (
        update(Link).where(Link.id == 8).values(**access_of(user).row_columns)
    ),
    "the workspace is deleted": lambda user: delete(Workspace).where(
        Workspace.id == access_of(user).workspace_id
    ),
    "all owners are deleted": lambda user: delete(User),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_counts_follow(name: str, alice: User, session: scoped_session[Session]) -> None:
    session.execute(CHANGES[name](alice))
    session.commit()
    assert counted(session) == real(session)


def test_a_change_that_is_rolled_back_counts_nothing(alice: User, session: scoped_session[Session]) -> None:
    before = counted(session)
    session.execute(delete(Link).where(Link.workspace_id == access_of(alice).workspace_id))
    session.rollback()
    assert counted(session) == before == real(session)


@pytest.mark.parametrize("name", STARTS)
def test_where_a_page_begins(name: str, alice: User) -> None:
    skipped, rising, start = STARTS[name]
    blocks = read_blocks(link_block, alice.id)
    assert blocks == [Block(0, 2), Block(2, 3), Block(4, 1)]
    assert find_page_start(blocks, skipped, rising=rising) == start


@pytest.mark.parametrize("order_by", ["", "link_id", "url"])
@pytest.mark.parametrize("order_type", ["ASC", "DESC"])
def test_pages_are_those_of_the_whole_list(
    order_by: str, order_type: str, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.input.listing.SIZES", (2,))
    key = (lambda id_: str(id_)) if order_by == "url" else (lambda id_: id_)
    wanted = sorted(IDS, key=key, reverse=order_type == "DESC")
    asked = {"results_per_page": "2", "order_by": order_by, "order_type": order_type}
    pages = [
        find_page(LISTING, access_of(alice).workspace_id, {**asked, "page": str(page)})
        for page in (1, 2, 3, 4)
    ]
    assert [[row.id for row in page.rows] for page in pages] == [wanted[:2], wanted[2:4], wanted[4:], []]
    assert {page.total for page in pages} == {len(IDS)}


SPLITS: dict[str, tuple[list[Block], list[ListPart]]] = {
    "none": ([], []),
    "one": ([Block(3, 5)], [ListPart(3 * SIZE, 4 * SIZE - 1, 5)]),
    "as many as there are parts": (
        [Block(number, number) for number in (0, 7)],
        [ListPart(0, SIZE - 1, 0), ListPart(7 * SIZE, 8 * SIZE - 1, 7)],
    ),
    "more": (
        [Block(number, 1) for number in (0, 2, 3, 9)],
        [ListPart(0, 3 * SIZE - 1, 2), ListPart(3 * SIZE, 10 * SIZE - 1, 2)],
    ),
    "a last part that is shorter": (
        [Block(number, 2) for number in range(3)],
        [ListPart(0, 2 * SIZE - 1, 4), ListPart(2 * SIZE, 3 * SIZE - 1, 2)],
    ),
}


@pytest.mark.parametrize("name", SPLITS)
def test_parts_hold_all_blocks(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.blocks.LEAST_OF_PART", 1)
    blocks, parts = SPLITS[name]
    assert split(blocks, 2) == parts


FILTERS = {
    "nothing, so all": ({}, IDS),
    "all of them": ({"is_enabled": "1"}, IDS),
    "none in the first block": ({"search": "1"}, IDS[2:]),
    "some in each block": ({"search": "9"}, (SIZE - 1, 2 * SIZE, 2 * SIZE + 1, 4 * SIZE + 5)),
    "only in the last block": ({"datetime_start": "2026-02-01"}, (4 * SIZE + 5,)),
    "by another table": ({"tag": "red"}, (7, 2 * SIZE + 1, 4 * SIZE + 5)),
    "by another table and a column": ({"tag": "red", "search": "8"}, (2 * SIZE + 1, 4 * SIZE + 5)),
    "none": ({"search": "nowhere"}, ()),
    "a type, which all have": ({"type": "link"}, IDS),
}


def read_pages(user: User, params: dict[str, str]) -> list[list[int]]:
    """The ids of each page of two, until one is empty."""
    pages: list[list[int]] = []
    while not pages or pages[-1]:
        asked = {**params, "results_per_page": "2", "page": str(len(pages) + 1)}
        pages.append([row.id for row in find_page(LISTING, access_of(user).workspace_id, asked).rows])
    return pages[:-1]


@pytest.fixture
def some_parts(alice: User, session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch) -> User:
    """The same links, of which each block is a part of its own, and some have tags and dates."""
    monkeypatch.setattr("app.input.listing.SIZES", (2,))
    monkeypatch.setattr("app.input.blocks.LEAST_OF_PART", 1)
    for id_ in IDS:
        link = session.get_one(Link, id_)
        link.datetime = dt.datetime(2026, 2 if id_ > 4 * SIZE else 1, 1 + id_ % 2, tzinfo=dt.UTC)
        link.last_datetime = None if id_ % 3 else link.datetime
        if id_ in FILTERS["by another table"][1]:
            session.add(LinkTag(link_id=id_, tag="red", position=0))
    session.commit()
    return alice


@pytest.mark.parametrize("is_sorted", [False, True], ids=["along the index", "sorted"])
@pytest.mark.parametrize("order_type", ["ASC", "DESC"])
@pytest.mark.parametrize("order_by", sorted(LISTING.orders))
def test_pages_of_what_filters_find(
    order_by: str,
    order_type: str,
    is_sorted: bool,
    some_parts: User,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Reach, "is_sorted_faster", is_sorted)
    found, wanted = {}, {}
    for name, (params, ids) in FILTERS.items():
        links = [session.get_one(Link, id_) for id_ in ids]
        links.sort(key=lambda link: value_of(link, order_by), reverse=order_type == "DESC")
        wanted[name] = [link.id for link in links]
        pages = read_pages(some_parts, {**params, "order_by": order_by, "order_type": order_type})
        found[name] = [id_ for page in pages for id_ in page]
        assert all(len(page) == 2 for page in pages[:-1])
    assert found == wanted


def value_of(link: Link, order_by: str) -> tuple[Any, int]:
    """What an order sorts by: no date before all dates, then the id."""
    values = {
        "link_id": 0,
        "clicks": 0,
        "url": link.url,
        "datetime": link.datetime,
        "last_datetime": link.last_datetime or dt.datetime.min.replace(tzinfo=dt.UTC),
    }
    return values[order_by], link.id


@pytest.mark.parametrize("order_type", ["ASC", "DESC"])
@pytest.mark.parametrize("order_by", sorted(LISTING.orders))
@pytest.mark.parametrize("owner", ["alice", "bob", "carol"])
def test_no_page_shows_links_of_the_next_workspace(
    owner: str,
    order_by: str,
    order_type: str,
    make_user: Callable[..., User],
    factory: Factory,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Even if links are removed after they were counted, and in workspaces before and behind others."""
    monkeypatch.setattr("app.input.listing.SIZES", (2,))
    users = {name: make_user(f"{name}@example.com") for name in ("alice", "bob", "carol")}
    for number in range(3):
        for name, user in users.items():
            factory.link(user, f"{name}-{number}")
    session.commit()
    counted_before = [Block(0, 9)]  # six have gone since
    monkeypatch.setattr("app.input.list_reading.read_blocks", lambda *_asked: counted_before)
    asked = {"results_per_page": "2", "order_by": order_by, "order_type": order_type}
    workspace_id = access_of(users[owner]).workspace_id
    pages = [find_page(LISTING, workspace_id, {**asked, "page": str(page)}) for page in (1, 2, 3, 4, 5)]
    shown = {row.workspace_id for page in pages for row in page.rows}
    assert shown == {workspace_id}
    assert pages[0].rows


BETWEEN_PAGES = {
    "a link is deleted that was shown": (delete(Link).where(Link.id == 7), [IDS[3:5], IDS[5:]]),
    "a link is deleted that comes": (delete(Link).where(Link.id == IDS[3]), [(IDS[2], IDS[4]), IDS[5:]]),
    "all that come are deleted": (delete(Link).where(Link.id > SIZE), []),
    "one is turned off that comes": (
        update(Link).where(Link.id == IDS[3]).values(is_enabled=False),
        [(IDS[2], IDS[4]), IDS[5:]],
    ),
}


@pytest.mark.parametrize("name", BETWEEN_PAGES)
def test_changes_between_pages(name: str, some_parts: User, session: scoped_session[Session]) -> None:
    """The second page and those after it are those of the list as it is then."""
    change, wanted = BETWEEN_PAGES[name]
    asked = {"is_enabled": "1"}
    assert read_pages(some_parts, asked) == [list(IDS[:2]), list(IDS[2:4]), list(IDS[4:])]
    session.execute(change)
    session.commit()
    assert read_pages(some_parts, asked)[1:] == [list(page) for page in wanted]


def test_a_link_that_is_made_between_pages(
    some_parts: User, factory: Factory, session: scoped_session[Session]
) -> None:
    assert read_pages(some_parts, {"is_enabled": "1"})[-1] == list(IDS[4:])
    factory.link(some_parts, "made meanwhile", id=9 * SIZE)
    session.commit()
    assert read_pages(some_parts, {"is_enabled": "1"})[2:] == [list(IDS[4:]), [9 * SIZE]]


REACHES = {
    "the first page of what is not filtered": (Reach(0, 25, 10**6, 0), False),
    "the middle of what is not filtered": (Reach(5 * 10**5, 25, 10**6, 0), False),
    "the first page of nearly all": (Reach(0, 25, 9 * 10**5, 10**6), False),
    "the middle of nearly all": (Reach(4 * 10**5, 25, 9 * 10**5, 10**6), False),
    "the first page of one in twelve": (Reach(0, 25, 83_000, 10**6), False),
    "the middle of one in twelve": (Reach(41_000, 25, 83_000, 10**6), True),
    "the last page of one in twelve": (Reach(82_980, 25, 83_000, 10**6), False),
    "a few of very many": (Reach(0, 25, 10, 10**6), True),
}


@pytest.mark.parametrize("name", REACHES)
def test_when_sorting_is_faster(name: str) -> None:
    reach, wanted = REACHES[name]
    assert reach.is_sorted_faster is wanted
