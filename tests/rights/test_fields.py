"""Ids of another workspace's rows in fields of requests: each is refused as one that is not there."""

from __future__ import annotations

from typing import Any

import pytest
from flask import Flask

from app.core.config import Settings
from tests.factories import Factory
from tests.rights.table import MARK
from tests.rights.world import DATABASES, SECRET, World, make_world

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


# --- what only reads: the other workspace's ids select nothing

LISTS = {
    "/api/links": ("project_id", "domain_id", "pixel_id"),
    "/dashboard/links/": ("project_id", "domain_id", "pixel_id", "handler_id"),
    "/dashboard/links/export.csv": ("project_id", "domain_id", "pixel_id", "handler_id"),
    "/dashboard/links/export.json": ("project_id", "domain_id", "pixel_id", "handler_id"),
    "/dashboard/links/new": ("copy", "project_id"),
    "/dashboard/shares/new": ("link_id", "project_id"),
    "/dashboard/statistics/": ("link_id", "project_id"),
    "/dashboard/statistics/links": ("link_id", "project_id"),
    "/api/statistics": ("link_id", "project_id"),
    "/api/audit": ("workspace_id", "account_id", "actor_id"),
    "/dashboard/account/audit-log": ("workspace_id", "email"),
    "/dashboard/workspace/audit-log": ("workspace_id", "email"),
    "/dashboard/w/{own}/workspace/audit-log": ("workspace_id", "email"),
}
KINDS = {**FIELDS, "pixel_id": "pixel", "handler_id": "handler", "link_id": "link", "copy": "link"}


def test_of_queries(world: World) -> None:
    wrong = []
    for person in ("stranger", "admin"):
        own = world.call_api(person, "GET", "/api/workspace").json["data"]["id"]  # type: ignore[index]
        for path, fields in LISTS.items():
            for field in fields:
                id_ = world.ids[KINDS[field]] if field in KINDS else world.workspace_id
                address = f"{path.format(own=own)}?{field}={id_}"
                if path.startswith("/api/"):
                    answer = world.call_api(person, "GET", address)
                else:
                    answer = world.open(person, "GET", address, {})
                if answer.status_code not in {200, 404, 422} or MARK in answer.text or SECRET in answer.text:
                    wrong.append(f"{person}: {address} is {answer.status_code}, or shows a row")
                if changed := world.changed():
                    wrong.append(f"{person}: {address} changed {changed}")
    assert not wrong, "\n".join(wrong)


def test_a_filter_by_a_row_of_others_finds_nothing(world: World) -> None:
    """Not even one's own links, which can't be in a project of others."""
    for field in LISTS["/api/links"]:
        answer = world.call_api("stranger", "GET", f"/api/links?{field}={world.ids[KINDS[field]]}")
        assert answer.json["data"] == [], field  # type: ignore[index]


# --- bulk operations: links of others are not among those that are changed

BULK: dict[str, dict[str, Any]] = {
    "off": {"do": "off"},
    "on": {"do": "on"},
    "delete": {"do": "delete"},
    "a tag": {"do": "change", "add_tags": "theirs", "apply": "1"},
    "replaced": {
        "do": "replace",
        "find": "example",
        "replace": "other",
        "in_location_url": "1",
        "apply": "1",
    },
}
FOREIGN = {
    "project_id": "project",
    "add_pixels": "pixel",
    "remove_pixels": "pixel",
    "add_handlers": "handler",
}


def test_of_bulk_operations(world: World) -> None:
    wrong = []
    before = world.rows_of_it()
    for person in ("stranger", "former", "admin"):
        for what, sent in BULK.items():
            for path in ("many", "many/go"):
                answer = world.open(
                    person, "POST", f"/dashboard/links/{path}", {**sent, "ids": world.ids["link"]}
                )
                if answer.status_code >= 500 or MARK in answer.text:
                    wrong.append(f"{person}: {what} by {path} is {answer.status_code}, or shows a row")
                if world.rows_of_it() != before:
                    wrong.append(f"{person}: {what} by {path} changed the other workspace")
                world.changed()
    assert not wrong, "\n".join(wrong)


def test_of_bulk_changes(world: World) -> None:
    """One's own links get no project, pixel or handler of others."""
    wrong = []
    for person in ("stranger", "admin"):
        own = world.call_api(person, "GET", "/api/links").json["data"][0]["id"]  # type: ignore[index]
        for field, kind in FOREIGN.items():
            sent = {"do": "change", field: world.ids[kind], "ids": own, "apply": "1"}
            answer = world.open(person, "POST", "/dashboard/links/many/go", sent)
            if answer.status_code != 422 or MARK in answer.text:
                wrong.append(f"{person}: {field} is {answer.status_code}, or shows a row")
            if changed := world.changed():
                wrong.append(f"{person}: {field} changed {changed}")
    assert not wrong, "\n".join(wrong)
