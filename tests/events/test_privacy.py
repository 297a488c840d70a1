"""What the feed says of visitors: no address, no user agent and no hash of either."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from app.journal.codec import Visit
from tests.events.conftest import Feed
from tests.redirects.conftest import Person, front, person, redirect_context, visits  # noqa: F401  fixtures

pytestmark = pytest.mark.settings(BASE_URL="https://go.example")
MARK = "Xyzzy4711"  # in every agent, and no part of a browser's or a bot's name
VISITORS = {
    "203.0.113.77": f"Mozilla/5.0 (X11; Linux x86_64) {MARK}/1.0 Chrome/130.0.0.0 Safari/537.36",
    "2001:db8:7:7::77": f"Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) {MARK} Mobile Safari/604.1",
    "203.0.113.78": f"Mozilla/5.0 (compatible; Googlebot/2.1; {MARK})",
}


def test_nothing_of_a_visitor_is_told(
    feed: Feed, make: Callable[..., Any], person: Person, visits: Callable[[], list[Visit]]
) -> None:
    make("open")
    make("limited", clicks_limit=2)
    for address, agent in VISITORS.items():
        for alias in ("open", "limited"):
            referrer = {"Referer": "https://news.example/story?secret=1"}
            person.open(f"/{alias}", agent=agent, headers=referrer, environ_base={"REMOTE_ADDR": address})
    hashes = {visit.visitor for visit in visits() if visit.visitor}
    assert hashes
    feed.take_in()
    feed.sequence()
    text = json.dumps(feed.all(), ensure_ascii=False)
    assert text.count('"link.clicked"') >= len(VISITORS)
    assert "link.clicks_limit_reached" in text
    assert "news.example" in text
    secrets = [MARK, *VISITORS, *VISITORS.values(), *hashes, "203.0.113.", "2001:db8:7", "secret=1"]
    assert [secret for secret in secrets if secret in text] == []
