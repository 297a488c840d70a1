"""Changes of links are told wherever they are made: by the API, the dashboard, an import, in bulk, the trash."""

# ruff: noqa: F811  imported fixtures are named as arguments
from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import pytest

from app.accounts.models import User
from app.import_export.models import LinkImport
from tests.clients import Api
from tests.dashboard.conftest import Desk, desk  # noqa: F401  a fixture
from tests.events.conftest import Feed
from tests.import_export.conftest import bring, take  # noqa: F401  fixtures

pytestmark = pytest.mark.settings(BASE_URL="https://go.example")
TARGET = "https://example.com/"


class Edges(NamedTuple):
    """What a change may be made by."""

    api: Api
    desk: Desk
    take: Callable[..., LinkImport]
    alice: User


def ids(edges: Edges) -> list[int]:
    return [link["id"] for link in edges.api.get("/links?results_per_page=100").json["data"]]


def made_by_api(edges: Edges) -> None:
    for number in range(2):
        assert edges.api.post("/links", json={"location_url": f"{TARGET}{number}"}).status_code == 201


def changed_by_api(edges: Edges) -> None:
    assert edges.api.post(f"/links/{ids(edges)[0]}", json={"title": "new"}).status_code == 200


def deleted_by_api(edges: Edges) -> None:
    assert edges.api.delete(f"/links/{ids(edges)[0]}").status_code in {200, 204}


def made_in_bulk_by_api(edges: Edges) -> None:
    lines = f"{TARGET}a\n{TARGET}b\n{TARGET}c"
    assert edges.api.post("/links", {"is_bulk": "1", "location_urls": lines}).status_code == 201


def made_in_the_dashboard(edges: Edges) -> None:
    assert edges.desk.post("/links/new", {"location_url": TARGET}).status_code == 303


def deleted_and_undone(edges: Edges) -> None:
    id_ = ids(edges)[0]
    assert edges.desk.post(f"/links/{id_}/delete", {}).status_code == 303
    batch = edges.api.get("/trash").json["data"][0]["id"]
    assert edges.api.post(f"/trash/{batch}/restore").status_code == 200


def switched_off_together(edges: Edges) -> None:
    assert edges.desk.post("/links/many", {"do": "off", "ids": ids(edges)}).status_code in {200, 303}


def deleted_together(edges: Edges) -> None:
    edges.desk.post("/links/many/go", {"do": "delete", "ids": ids(edges), "total": "2"})


def imported(edges: Edges) -> None:
    edges.take(edges.alice, f"url,location_url\nfirst,{TARGET}1\nsecond,{TARGET}2\n")


class Told(NamedTuple):
    """What the feed has of a change: types, who made it, and by which way."""

    types: list[str]
    who: str
    via: str


CHANGES: dict[str, tuple[Callable[[Edges], None], Told]] = {
    "made by the API": (made_by_api, Told(["link.created"] * 2, "key", "api")),
    "changed by the API": (changed_by_api, Told(["link.updated"], "key", "api")),
    "deleted by the API": (deleted_by_api, Told(["link.deleted"], "key", "api")),
    "made in bulk": (made_in_bulk_by_api, Told(["link.created"] * 3, "key", "api")),
    "made in the dashboard": (made_in_the_dashboard, Told(["link.created"], "user", "dashboard")),
    "switched off together": (switched_off_together, Told(["link.updated"] * 2, "user", "many")),
    "deleted together": (deleted_together, Told(["link.deleted"] * 2, "user", "many")),
    "imported": (imported, Told(["link.created"] * 2, "user", "import")),
}


@pytest.fixture
def edges(api: Api, desk: Desk, take: Callable[..., LinkImport], alice: User) -> Edges:
    return Edges(api, desk, take, alice)


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_told_wherever_it_is_made(name: str, edges: Edges, feed: Feed) -> None:
    change, expected = CHANGES[name]
    made_by_api(edges)
    feed.sequence()
    before = feed.page()
    change(edges)
    feed.sequence()
    events = feed.all(before.next)
    assert [event["type"] for event in events] == expected.types
    actors = [event["data"]["actor"] for event in events]
    assert {(actor["type"], actor["id"], actor["via"]) for actor in actors} == {
        (expected.who, feed.workspace_id, expected.via)
    }
    assert all(actor["name"] for actor in actors)


def test_to_the_trash_and_back(edges: Edges, feed: Feed) -> None:
    made_by_api(edges)
    feed.sequence()
    before = feed.page()
    deleted_and_undone(edges)
    feed.sequence()
    found = [(event["type"], event["data"]["actor"]["via"]) for event in feed.all(before.next)]
    assert found == [("link.deleted", "dashboard"), ("link.restored", "api")]
