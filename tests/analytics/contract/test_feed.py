"""The feed of events reads the same clicks wherever they are: SQLite, PostgreSQL and ClickHouse."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

import datetime as dt
import json
from collections import Counter
from collections.abc import Callable
from random import Random
from typing import Any

import pytest

from app.accounts.models import User
from app.journal.codec import encode
from tests.analytics.load import load
from tests.events.conftest import Feed, feed, make  # noqa: F401  fixtures

BEGIN = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
AGENT = "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36 Secret/1"


@pytest.mark.settings(BASE_URL="https://go.example")
def test_each_click_is_told_once_with_all_that_is_known(feed: Feed, make: Callable[..., Any]) -> None:
    link = make("spring")
    feed.sequence()
    feed.visit(
        link.id,
        visitor="0123456789abcdef",
        country_code="DE",
        continent_code="EU",
        city_name="Berlin",
        agent=AGENT,
        language="de-AT",
        referrer_host="news.example",
        referrer_path="/story",
        utm_source="mail",
        utm_medium="letter",
        utm_campaign="spring",
        destination="https://example.com/",
        time_ms=1_700_000_000_999,
    )
    feed.visit(link.id, is_bot=1, bot_name="Crawler", agent="Crawler/1.0")
    first, second = feed.all(types=frozenset({"link.clicked"}))
    assert list(first) == ["id", "type", "datetime", "data"]
    assert first["datetime"] == "2023-11-14 22:13:20"
    told = {
        "id": first["id"],
        "datetime": first["datetime"],
        "link": {"id": link.id, "url": "spring", "short_url": "https://go.example/spring"},
        "destination": "https://example.com/",
        "is_bot": False,
        "continent_code": "EU",
        "country_code": "DE",
        "city_name": "Berlin",
        "os_name": "Linux",
        "browser_name": "Chrome",
        "device_type": "desktop",
        "browser_language": "de",
        "referrer_host": "news.example",
        "referrer_path": "/story",
        "utm_source": "mail",
        "utm_medium": "letter",
        "utm_campaign": "spring",
    }
    assert list(first["data"].items()) == list(told.items())
    assert second["data"]["is_bot"] is True
    assert second["data"]["country_code"] is None
    assert feed.all(limit=1) == feed.all()
    assert not [text for text in ("Secret", "0123456789abcdef") if text in json.dumps(feed.all())]


def test_clicks_of_many_days_links_and_workspaces(feed: Feed, alice: User, bob: User) -> None:
    visits = load(1500, BEGIN, 4, {alice.id: (10, 11), bob.id: (20,)}, Random(8))
    for number, visit in enumerate(visits):
        feed.journal.append(encode(visit))
        if number % 400 == 0:
            feed.take_in()
    feed.take_in()
    for user, links in ((alice, (10, 11)), (bob, (20,))):
        found = feed.all(workspace_id=user.id, limit=97)
        told = Counter((event["data"]["link"]["id"], event["datetime"]) for event in found)
        wanted = Counter(
            (
                visit.link_id,
                dt.datetime.fromtimestamp(visit.time_ms // 1000, dt.UTC).strftime("%Y-%m-%d %H:%M:%S"),
            )
            for visit in visits
            if visit.workspace_id == user.id
        )
        assert told == wanted
        assert len({event["id"] for event in found}) == len(found)
        for link_id in links:
            of_link = [event for event in found if event["data"]["link"]["id"] == link_id]
            assert feed.all(workspace_id=user.id, link_id=link_id, limit=31) == of_link


def test_clicks_of_limited_links(feed: Feed, make: Callable[..., Any]) -> None:
    """They come from a table of the main database instead of the journal."""
    from sqlalchemy import insert

    from app.journal.codec import Visit
    from app.redirects.models import LimitedVisit

    link = make("limited", clicks_limit=5)
    feed.sequence()
    line = encode(Visit(1_764_000_000_000, link.id, feed.workspace_id, 0))
    rows = [{"version": ".v1", "line": line} for _ in range(5)]
    feed.session.execute(insert(LimitedVisit), rows)
    feed.session.commit()
    feed.take_in()
    feed.ingest.tend()
    feed.take_in()
    assert feed.types() == ["link.created", *["link.clicked"] * 5]
