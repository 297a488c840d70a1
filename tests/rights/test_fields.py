"""Ids of another workspace's rows in fields of requests: each is refused as one that is not there."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from app.core.config import Settings
from tests.factories import Factory
from tests.rights.table import MARK
from tests.rights.world import DATABASES, World, make_world

pytestmark = DATABASES
TO = {"location_url": "https://example.com/"}
# the field, the kind of row that it names, and the form of the dashboard in which it stands
FIELDS = {
    "project_id": "project",
    "domain_id": "domain",
    "pixels_ids": "pixel",
    "email_reports": "handler",
}
PAGES: dict[str, tuple[str, dict[str, Any], str, str]] = {
    "a link's project": ("links/new", TO, "project_id", "project"),
    "a link's domain": ("links/new", TO, "domain_id", "domain"),
    "a link's pixels": ("links/new", TO, "pixels_ids", "pixel"),
    "a link's handlers": ("links/new", TO, "email_reports", "handler"),
    "a shared link": ("shares/new", {"name": "n", "period": "30d"}, "link_id", "link"),
    "a shared project": ("shares/new", {"name": "n", "period": "30d"}, "project_id", "project"),
}


@pytest.fixture
def world(app: Flask, settings: Settings, factory: Factory) -> World:
    return make_world(app, settings, factory)


def test_of_the_api(world: World) -> None:
    for person in ("stranger", "admin"):
        own = world.call_api(person, "GET", "/api/links").json["data"][0]["id"]  # type: ignore[index]
        for field, kind in FIELDS.items():
            for path, sent in (("/api/links", TO), (f"/api/links/{own}", {})):
                answer = world.call_api(person, "POST", path, json={**sent, field: world.ids[kind]})
                assert (answer.status_code, world.changed()) == (422, set()), (person, path, field)
                assert {one["field"].partition("[")[0] for one in answer.json["errors"]} == {field}  # type: ignore[index]
                assert MARK not in answer.text


def test_of_pages(world: World) -> None:
    for person in ("stranger", "former", "admin"):
        for what, (path, sent, field, kind) in PAGES.items():
            answer = world.open(person, "POST", f"/dashboard/{path}", {**sent, field: world.ids[kind]})
            assert answer.status_code in {404, 422}, (person, what)
            assert world.changed() == set(), (person, what)
            assert MARK not in answer.text, (person, what)
