"""`GET /api/events`: the feed by cursors, and what is refused."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

import random
import string
from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from app.events.feed.cursors import Cursor
from tests.clients import Api
from tests.events.conftest import Feed, feed, make  # noqa: F401  fixtures

pytestmark = pytest.mark.settings(BASE_URL="https://go.example")
Make = Callable[..., Any]


def find(api: Api, query: str = "") -> Any:
    answer = api.get(f"/events?{query}")
    assert answer.status_code == 200, answer.text
    return answer.json


def test_pages_by_cursor(api: Api, feed: Feed, make: Make) -> None:
    link = make("spring")
    feed.sequence()
    feed.visit(link.id, 5)
    first = find(api, "limit=4")
    assert [event["type"] for event in first["data"]] == ["link.created", *["link.clicked"] * 3]
    assert first["meta"]["is_more"] is True
    second = find(api, f"limit=4&after={first['meta']['next']}")
    assert len(second["data"]) == 2
    assert second["meta"]["is_more"] is False
    again = api.get("/events?limit=4").data
    assert again == api.get("/events/?limit=4").data
    end = find(api, f"after={second['meta']['next']}")
    assert end["data"] == []
    feed.visit(link.id)
    assert len(find(api, f"after={end['meta']['next']}")["data"]) == 1


@pytest.mark.parametrize(
    "query",
    ["type[]=link.created&type[]=link.deleted", "type[0]=link.created&type[1]=link.deleted",
     "type=link.created&type=link.deleted", "type[]=link.created&type[]=&link_id=1"],
)  # fmt: skip
def test_types_in_every_spelling(query: str, api: Api, feed: Feed, make: Make) -> None:
    link = make("spring")
    feed.sequence()
    feed.visit(link.id)
    assert [event["type"] for event in find(api, query)["data"]] == ["link.created"]


BAD = {
    "an unknown type": ("type[]=link.seen", ["type"]),
    "two unknown types": ("type[]=link.seen&type[]=x&type[]=link.clicked", ["type", "type"]),
    "a limit of nothing": ("limit=0", ["limit"]),
    "a negative limit": ("limit=-1", ["limit"]),
    "a limit beyond": ("limit=1001", ["limit"]),
    "a limit in words": ("limit=ten", ["limit"]),
    "a limit in other digits": ("limit=%D9%A1", ["limit"]),
    "a link of no number": ("link_id=x", ["link_id"]),
    "a link of zero": ("link_id=0", ["link_id"]),
    "a link too large": ("link_id=9223372036854775808", ["link_id"]),
    "all at once": ("type=x&limit=0&link_id=-1&after=unknown", ["type", "link_id", "limit"]),
}


def test_each_bad_field_is_named(api: Api) -> None:
    for name, (text, fields) in BAD.items():
        answer = api.get(f"/events?{text}")
        assert answer.status_code == 422, name
        assert [error["field"] for error in answer.json["errors"]] == fields, name


def test_a_cursor_that_is_gone_comes_with_the_oldest(
    api: Api, make_api: Callable[..., Api], feed: Feed, make: Make, bob: User
) -> None:
    make("spring")
    feed.sequence()
    cursor = find(api)["meta"]["next"]
    for query in (f"after={cursor[:-1]}", f"after={Cursor(feed.workspace_id, 99)}", "after=%F0%9F%8E%B2"):
        answer = api.get(f"/events?{query}")
        assert answer.status_code == 410
        assert answer.json["errors"][0]["field"] == "after"
        assert answer.json["errors"][0]["code"] == "cursor_gone"
        assert find(api, f"after={answer.json['oldest']}") == find(api)
    assert make_api(bob).get(f"/events?after={cursor}").status_code == 410


def test_fuzzed_cursors_are_gone_or_good(api: Api, feed: Feed, make: Make) -> None:
    make("spring")
    feed.sequence()
    good = find(api)["meta"]["next"]
    luck = random.Random(19)
    letters = string.ascii_letters + string.digits + "-_=%+/ \"'é\n"
    for _ in range(300):
        text = list(good)
        for _ in range(luck.randint(1, 3)):
            text[luck.randrange(len(text))] = luck.choice(letters)
        changed = "".join(text)[: luck.randint(1, 60)]
        answer = api.get("/events", query_string={"after": changed})
        assert answer.status_code == (200 if changed == good else 410), changed
