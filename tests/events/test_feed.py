"""The feed: one order of changes and clicks, the same whenever it is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.core.actor import Actor, act_as
from app.events.feed.cursors import Cursor, CursorGone
from app.events.feed.reading import newest_cursor, newest_position
from app.links import services
from app.trash import services as trash
from app.trash.models import Trashed
from tests.events.conftest import Feed

pytestmark = [pytest.mark.databases, pytest.mark.settings(BASE_URL="https://go.example")]
Make = Callable[..., Any]


def test_changes_are_told_with_who_and_what(feed: Feed, make: Make, session: scoped_session[Session]) -> None:
    act_as(Actor("api", "Robot", feed.workspace_id, "alice@example.com"))
    link = make("spring")
    act_as(Actor("dashboard", "Alice", feed.workspace_id, "alice@example.com"))
    services.update(link, {"title": "Spring", "url": "summer", "password_hash": "argon2-secret"})
    batch = services.delete(link)
    services.restore(trash.find_batch(feed.workspace_id, batch)[0])
    feed.sequence()
    created, updated, deleted, restored = feed.all()
    assert [event["type"] for event in (created, updated, deleted, restored)] == [
        "link.created", "link.updated", "link.deleted", "link.restored",
    ]  # fmt: skip
    assert list(created) == ["id", "type", "datetime", "data"]
    assert created["data"] == {
        "link": {
            "id": link.id,
            "url": "spring",
            "short_url": "https://go.example/spring",
            "location_url": "https://example.com/",
            "clicks": 0,
        },
        "actor": {"type": "key", "id": feed.workspace_id, "name": "Robot", "via": "api"},
    }
    assert updated["data"]["actor"]["type"] == "user"
    assert updated["data"]["changes"] == {
        "url": ["spring", "summer"],
        "title": [None, "Spring"],
        "password": [None, "********"],
    }
    assert restored["data"]["link"]["short_url"] == "https://go.example/summer"
    assert "argon2" not in json.dumps(feed.all())


def test_changes_and_clicks_have_one_order(feed: Feed, make: Make) -> None:
    link = make("spring")
    feed.sequence()
    feed.visit(link.id, 3)
    services.update(link, {"title": "Spring"})
    feed.sequence()
    feed.visit(link.id, 2)
    expected = ["link.created", *["link.clicked"] * 3, "link.updated", *["link.clicked"] * 2]
    assert feed.types() == expected
    assert feed.types(limit=1) == expected
    assert feed.types(limit=2) == expected
    assert len({event["id"] for event in feed.all()}) == len(expected)


def test_a_page_is_the_same_whenever_it_is_read(feed: Feed, make: Make) -> None:
    link = make("spring")
    feed.sequence()
    feed.visit(link.id, 10)
    pages = [feed.page(limit=4)]
    pages.append(feed.page(pages[0].next, limit=4))
    services.update(link, {"url": "summer"})
    feed.session.commit()
    before = [feed.page(limit=4), feed.page(pages[0].next, limit=4)]  # committed, and without a place yet
    feed.sequence()
    feed.visit(link.id, 5)
    services.delete(link)
    feed.sequence()
    feed.visit(link.id, 1)
    assert [feed.page(limit=4), feed.page(pages[0].next, limit=4)] == pages == before
    urls = [event["data"]["link"]["url"] for event in feed.all(types=frozenset({"link.clicked"}))]
    assert urls == ["spring"] * 10 + ["summer"] * 6


def test_filters(feed: Feed, make: Make) -> None:
    first, second = make("one"), make("two")
    feed.sequence()
    feed.visit(first.id, 2)
    feed.visit(second.id, 3)
    services.update(second, {"title": "Two"})
    feed.sequence()
    assert feed.types(link_id=first.id) == ["link.created", *["link.clicked"] * 2]
    assert feed.types(link_id=second.id) == ["link.created", *["link.clicked"] * 3, "link.updated"]
    assert feed.types(types=frozenset({"link.updated", "link.created"})) == [
        *["link.created"] * 2, "link.updated",
    ]  # fmt: skip
    assert feed.types(types=frozenset({"link.clicked"}), link_id=second.id, limit=2) == ["link.clicked"] * 3
    assert feed.types(types=frozenset({"link.deleted"})) == []
    assert feed.types(link_id=999) == []


def test_nothing_is_told_of_what_is_rolled_back(
    feed: Feed, make: Make, session: scoped_session[Session]
) -> None:
    link = make("spring")
    services.update(link, {"title": "never"})
    session.rollback()
    feed.sequence()
    assert feed.types() == ["link.created"]


def test_a_bulk_of_links(feed: Feed, session: scoped_session[Session], alice: Any) -> None:
    from app.accounts.workspaces import access_of

    services.create_bulk(access_of(alice), {"location_urls": ["https://a.example/", "https://b.example/"]})
    feed.sequence()
    assert [event["data"]["link"]["location_url"] for event in feed.all()] == [
        "https://a.example/", "https://b.example/",
    ]  # fmt: skip


def test_a_purged_link_is_forgotten(feed: Feed, make: Make, session: scoped_session[Session]) -> None:
    from app.links.removal import empty_trash

    link = make("spring", location_url="https://secret.example/")
    services.update(link, {"notes": "secret"})
    services.delete(link)
    feed.sequence()
    assert len(feed.all()) == 3
    empty_trash(feed.workspace_id)
    feed.sequence()
    [event] = feed.all()
    assert event["type"] == "link.deleted"
    assert "secret" not in json.dumps(event)
    assert session.query(Trashed).count() == 0


# --- cursors


def test_a_cursor_at_the_end_waits_for_what_comes(feed: Feed, make: Make) -> None:
    link = make("spring")
    feed.sequence()
    end = newest_cursor(feed.session, feed.workspace_id)
    page = feed.page(end)
    assert (page.events, page.is_more) == ([], False)
    feed.visit(link.id)
    assert [event["type"] for event in feed.page(page.next).events] == ["link.clicked"]
    assert [event["type"] for event in feed.page(end).events] == ["link.clicked"]
    assert newest_position(feed.session) == 2


def test_cursors_that_are_gone(feed: Feed, make: Make, bob: Any) -> None:
    make("spring")
    feed.sequence()
    good = newest_cursor(feed.session, feed.workspace_id)
    late = Cursor(feed.workspace_id, 3), Cursor(feed.workspace_id, 2**63), Cursor(feed.workspace_id, 1, 2**62)
    wrong = [
        "",
        "x",
        good[:-1],
        good + "A",
        good.lower(),
        "é",
        good + "=",
        newest_cursor(feed.session, bob.id),
    ]
    for text in [*wrong, *map(str, late), str(Cursor(feed.workspace_id, 0))]:
        with pytest.raises(CursorGone) as caught:
            feed.page(text)
        assert feed.page(caught.value.oldest) == feed.page(), text
    assert feed.page(good).events == []
