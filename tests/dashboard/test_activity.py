"""The page of activity: events newest first, its filters, and what is newer."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from app.core.actor import Actor, act_as
from app.dashboard.activity.views import LABELS
from app.events.types import TYPES
from app.links import services
from tests.dashboard.conftest import Desk
from tests.events.conftest import Feed, feed, make  # noqa: F401  fixtures

pytestmark = pytest.mark.settings(BASE_URL="https://go.example")
Make = Callable[..., Any]


def badges(page: Any) -> list[str]:
    return re.findall(r'<span class="badge [a-z]*">([^<]+)</span>', page.text)


def older(page: Any) -> str | None:
    found = re.search(r'rel="next" href="([^"#]+)', page.text)
    return found and found[1].replace("&amp;", "&").removeprefix("/dashboard")


def test_there_is_a_word_for_each_type() -> None:
    assert list(LABELS) == list(TYPES)


def test_newest_first(desk: Desk, feed: Feed, make: Make) -> None:
    assert "No events yet" in desk.get("/activity/").text
    link = make("spring")
    feed.sequence()
    feed.visit(link.id, country_code="DE", referrer_host="news.example")
    act_as(Actor("dashboard", "Alice", feed.workspace_id))
    services.update(link, {"title": "Spring <b>", "password_hash": "secret-hash"})
    feed.sequence()
    page = desk.get("/activity/")
    assert badges(page) == ["Link changed", "Click", "Link created"]
    assert "Title: – → Spring &lt;b&gt;" in page.text
    assert "Germany" in page.text
    assert "news.example" in page.text
    assert "By: <bdi>Alice</bdi>" in page.text
    assert "secret-hash" not in page.text
    assert older(page) is None


def test_older_pages_reach_everything_once(desk: Desk, feed: Feed, make: Make) -> None:
    link = make("spring")
    feed.sequence()
    for number in range(7):
        feed.visit(link.id, 17 + number)
    wanted = [event["id"] for event in reversed(feed.all())]
    found: list[str] = []
    address: str | None = "/activity/"
    while address:
        page = desk.get(address)
        found += re.findall(r'<li class="row" id="([^"]+)"', page.text)
        address = older(page)
    assert found == wanted
    assert len(wanted) == 141


def test_filters(desk: Desk, feed: Feed, make: Make, bob: User) -> None:
    first, second = make("one"), make("two")
    feed.sequence()
    feed.visit(first.id, 2)
    feed.visit(second.id, 1)
    act_as(Actor("dashboard", "Alice", feed.workspace_id))
    services.update(second, {"title": "Two"})
    feed.sequence()
    for query, expected in {
        "type=link.clicked": ["Click"] * 3,
        "link=one": ["Click", "Click", "Link created"],
        "link=https://go.example/two": ["Link changed", "Click", "Link created"],
        "link=two&type=link.updated": ["Link changed"],
        f"actor={feed.workspace_id}": ["Link changed"],
        f"actor={bob.id}": [],
        "type=link.deleted": [],
    }.items():
        page = desk.get(f"/activity/?{query}")
        assert page.status_code == 200, query
        assert badges(page) == expected, query
    assert "No events match" in desk.get("/activity/?type=link.deleted").text


def test_newer_events_are_announced(desk: Desk, feed: Feed, make: Make) -> None:
    link = make("spring")
    feed.sequence()
    page = desk.get("/activity/?type=link.clicked")
    asks = re.search(r'hx-get="([^"]+activity/news[^"]+)"', page.text)
    assert asks
    address = asks[1].replace("&amp;", "&").removeprefix("/dashboard")
    nothing = desk.get(address)
    assert "hx-get" in nothing.text
    services.update(link, {"title": "another type"})
    feed.sequence()
    assert "Show newer events" not in desk.get(address).text
    feed.visit(link.id)
    news = desk.get(address)
    assert "Show newer events" in news.text
    assert "hx-get" not in news.text
    assert "Show newer events" in desk.get("/activity/news?seen=nonsense").text
