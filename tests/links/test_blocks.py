"""Blocks of links: the counts are exact after every kind of change, and pages are those that reading all gives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest
from sqlalchemy import delete, select, text, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User, Workspace
from app.accounts.workspaces import access_of
from app.input.blocks import BLOCK_BITS, Block, PageStart, find_page_start, read_blocks
from app.input.listing import find_page
from app.links.lists import LISTING
from app.links.models import Link, link_block
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
