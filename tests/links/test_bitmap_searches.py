"""Searches of long lists: what a look at each link gives, by reading only blocks that can have such a link."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pytest
from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.dashboard.links import filters, search
from app.input.blocks import BLOCK_BITS, Block
from app.input.listing import Listing, find_page
from app.input.params import QueryParams
from app.input.selections import RowReader
from app.links import lists
from app.links.bitmaps import upkeep
from app.links.bitmaps.searches import SIGNATURE
from app.links.bitmaps.tables import link_bitmap
from app.links.models import Link
from tests.factories import Factory

pytestmark = pytest.mark.databases

SIZE = 1 << BLOCK_BITS
API, DASHBOARD = lists.LISTING, filters.LISTING
# links of four blocks by id: alias, destination, title, notes and tags
LINKS: Mapping[int, tuple[str, str, str | None, str | None, tuple[str, ...]]] = {
    1: ("summer-sale", "https://shop.example/straße", "Großer Verkauf", None, ()),
    2: ("winter", "https://shop.example/winter?q=100%", None, "ask Zoë first", ("cold",)),
    SIZE: ("k3j9x2a", "https://example.com/summer", None, None, ("summer-sale",)),
    SIZE + 1: ("off", "https://example.com/off", "Switched off in summer", None, ()),
    3 * SIZE: ("東京", "https://example.com/tokyo", None, None, ()),
    5 * SIZE: ("plain", "https://example.org/", "First line\nsecond line", None, ()),
}
OFF = SIZE + 1


@pytest.fixture(autouse=True)
def long_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.selections.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.links.bitmaps.upkeep.LEAST_OF_PART", 1)
    monkeypatch.setattr("app.input.selections.SEARCHED_PART", 1)


@pytest.fixture
def alice(
    make_user: Callable[..., User],
    factory: Factory,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
) -> User:
    user, other = make_user("alice@example.com"), make_user("bob@example.com")
    for id_, (url, location_url, title, notes, tags) in LINKS.items():
        columns = {"location_url": location_url, "title": title, "notes": notes, "tags": tags}
        factory.link(user, url, id=id_, is_enabled=id_ != OFF, **columns)
    factory.link(other, "others-summer-sale", id=7, location_url="https://shop.example/winter")
    session.commit()
    search_with_bitmaps(user, monkeypatch)
    return user


def search_with_bitmaps(user: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the bitmaps of a user's links, and have searches look as in a request of this user."""
    monkeypatch.setattr(search, "workspace_id", lambda: access_of(user).workspace_id)
    monkeypatch.setattr(search, "own_host", lambda: "localhost")
    make_bitmaps(user)


def make_bitmaps(user: User) -> None:
    workspace_id = access_of(user).workspace_id
    db.session.rollback()
    with Session(db.engine) as worker:
        blocks = {*upkeep.stale_blocks(worker, workspace_id), *upkeep.missing_blocks(worker, workspace_id)}
        upkeep.make_bitmaps(worker, workspace_id, sorted(blocks))


def ids_of(user: User, listing: Listing[Link], params: QueryParams) -> list[int]:
    db.session.rollback()
    return [row.id for row in find_page(listing, access_of(user).workspace_id, params).rows]


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> set[int]:
    """The blocks whose rows were read."""
    found: set[int] = set()
    usual = RowReader.read

    def note(reader: RowReader, block: Block) -> int:
        found.add(block.number)
        return usual(reader, block)

    monkeypatch.setattr(RowReader, "read", note)
    return found


# what is asked, what is found, and which blocks have to be read
SEARCHES: Mapping[str, tuple[Listing[Link], QueryParams, list[int], set[int]]] = {
    "an alias": (API, {"search": "k3j9x2a"}, [SIZE], {1}),
    "a part of one": (API, {"search": "9x2a"}, [SIZE], {1}),
    "in another case": (API, {"search": "K3J9X2A"}, [SIZE], {1}),
    "beyond ASCII": (API, {"search": "STRASSE"}, [1], {0}),
    "two letters": (API, {"search": "東京"}, [3 * SIZE], {3}),
    "a part of a destination": (API, {"search": "example.com"}, [SIZE, OFF, 3 * SIZE], {1, 3}),
    "in two columns": (API, {"search": "winter"}, [2], {0}),
    "in one column": (API, {"search": "summer", "search_by": "url"}, [1], {0, 1}),
    "in titles": (API, {"search": "off in", "search_by": "title"}, [OFF], {1}),
    "a text with spaces": (API, {"search": "großer verkauf"}, [1], {0}),
    "two words in another order": (API, {"search": "verkauf großer"}, [], set()),
    "over a line's end": (API, {"search": "first line\nsecond"}, [5 * SIZE], {5}),
    "literal signs": (API, {"search": "100%"}, [2], {0}),
    "notes, which the API does not search": (API, {"search": "Zoë first"}, [], {0}),
    "nothing": (API, {"search": "nowhere at all"}, [], set()),
    "with a filter": (API, {"search": "summer", "is_enabled": "1"}, [1, SIZE], {0, 1}),
    "with a filter that leaves one block": (API, {"search": "summer", "is_enabled": "0"}, [OFF], {1}),
    "too short, with a filter that leaves one block": (API, {"search": "in", "is_enabled": "0"}, [OFF], {1}),
    "words": (DASHBOARD, {"search": "verkauf summer"}, [1], {0}),
    "words, of which one is short": (DASHBOARD, {"search": "in switched"}, [OFF], {1}),
    "words of two links of a block": (DASHBOARD, {"search": "verkauf winter"}, [], {0}),
    "words of two blocks": (DASHBOARD, {"search": "verkauf k3j9x2a"}, [], set()),
    "notes": (DASHBOARD, {"search": "zoë"}, [2], {0}),
    "notes in two forms": (DASHBOARD, {"search": "zoe\u0308"}, [2], {0}),
    "a tag, and an alias": (DASHBOARD, {"search": "summer-sale"}, [1, SIZE], {0, 1}),
    "words of one column": (DASHBOARD, {"search": "winter", "search_by": "url"}, [2], {0}),
    "a short link": (DASHBOARD, {"search": "http://localhost/plain"}, [5 * SIZE], {5}),
    "a short link and a word": (DASHBOARD, {"search": "localhost/plain second"}, [5 * SIZE], {5}),
    "a short link and a word of another": (DASHBOARD, {"search": "localhost/plain winter"}, [], set()),
    "another's short link": (DASHBOARD, {"search": "localhost/others-summer-sale"}, [], set()),
    "a state": (DASHBOARD, {"search": "summer", "state": "off"}, [OFF], {1}),
}


@pytest.mark.parametrize("name", SEARCHES)
def test_what_searches_find(name: str, alice: User, read: set[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.list_reading.count_parts", None)  # the way for lists without bitmaps
    listing, params, wanted, blocks = SEARCHES[name]
    assert ids_of(alice, listing, params) == wanted
    assert read == blocks
    assert ids_of(alice, listing, {**params, "order_type": "DESC"}) == wanted[::-1]
    for order_by in ("url", "datetime", "clicks"):
        assert sorted(ids_of(alice, listing, {**params, "order_by": order_by})) == wanted


@pytest.mark.parametrize("name", SEARCHES)
def test_they_find_what_is_found_link_by_link(
    name: str, alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    listing, params, wanted, _ = SEARCHES[name]
    monkeypatch.setattr("app.input.selections.Selection", None)
    monkeypatch.setattr("app.input.selections.LEAST_OF_PART", 100)
    assert ids_of(alice, listing, params) == wanted


def test_a_text_that_was_changed_is_found_at_once(
    alice: User, read: set[int], session: scoped_session[Session]
) -> None:
    session.get_one(Link, 3 * SIZE).title = "Autumn"
    session.get_one(Link, 2).notes = "late in autumn"
    session.commit()
    for _ in range(2):
        assert ids_of(alice, API, {"search": "autumn"}) == [3 * SIZE]
        assert ids_of(alice, DASHBOARD, {"search": "AUTUMN"}) == [2, 3 * SIZE]
        assert ids_of(alice, DASHBOARD, {"search": "zoë"}) == []
        assert read >= {0, 3}
        make_bitmaps(alice)


@pytest.mark.parametrize("is_there", [True, False], ids=["too long texts", "from before there were any"])
def test_blocks_without_a_signature_are_read(
    is_there: bool, alice: User, read: set[int], session: scoped_session[Session]
) -> None:
    of_two = link_bitmap.c.name == SIGNATURE, link_bitmap.c.block.in_([1, 5])
    if is_there:
        session.execute(update(link_bitmap).where(*of_two).values(bits=b""))
    else:
        session.execute(delete(link_bitmap).where(*of_two))
    session.commit()
    assert ids_of(alice, API, {"search": "summer-sale"}) == [1]
    assert read == {0, 1, 5}


def test_what_is_in_many_blocks_is_counted_as_before(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.input.selections.SEARCHED_PART", 4)
    assert ids_of(alice, API, {"search": "k3j9"}) == [SIZE]
    monkeypatch.setattr("app.input.selections.Selection", None)
    assert ids_of(alice, API, {"search": "https"}) == sorted(LINKS)


def test_a_workspace_has_signatures_of_its_own(alice: User, session: scoped_session[Session]) -> None:
    workspace_id = access_of(alice).workspace_id
    found = session.execute(
        select(link_bitmap.c.workspace_id, link_bitmap.c.block).where(link_bitmap.c.name == SIGNATURE)
    )
    assert set(found) == {(workspace_id, block) for block in (0, 1, 3, 5)}
