"""Projects: their API, their totals, and their page in the dashboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.dashboard.links.rows import LinkTotals, totals_by
from app.links.models import Link
from app.projects.models import Project
from tests.api.shape import fields, problem
from tests.clients import Api


@pytest.mark.databases
def test_the_whole_life_of_a_project(api: Api, session: scoped_session[Session], database: str) -> None:
    made = api.post("/projects", {"name": "Launch", "color": "#E4572E"})
    number = made.json["data"]["id"]
    assert (made.status_code, made.headers["Location"]) == (201, f"http://localhost/api/projects/{number}")
    link = api.post("/links", {"location_url": "https://example.com/", "project_id": number}).json["data"]
    data = api.get(f"/projects/{number}").json["data"]
    assert list(data) == ["id", "name", "color", "last_datetime", "datetime"]
    assert (data["name"], data["color"], data["last_datetime"]) == ("Launch", "#e4572e", None)
    assert api.post(f"/projects/{number}", {"color": ""}).json == {"data": {"id": number}}
    data = api.get(f"/projects/{number}").json["data"]
    assert (data["name"], data["color"]) == ("Launch", "#4263eb")
    assert data["last_datetime"]
    assert [row["id"] for row in api.get(f"/links?project_id={number}").json["data"]] == [link["id"]]
    assert api.delete(f"/projects/{number}").status_code == 204
    assert api.get(f"/links/{link['id']}").json["data"]["project_id"] is None
    for method in ("GET", "POST", "DELETE"):
        problem(api.open(method, f"/projects/{number}"), 404)


BAD = [
    ("name", ""), ("name", "x" * 129), ("name", "a\nb"), ("color", "red"), ("color", "#fff"), ("color", "#12345g"),
    ("color", "4263eb"), ("color", "#4263eb\n"), ("color", "#４263eb"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "value"), BAD)
def test_a_bad_field_is_named(
    api: Api, make_project: Callable[..., Any], alice: User, name: str, value: str
) -> None:
    stored = make_project(alice)
    for path in ("/projects", f"/projects/{stored.id}"):
        assert fields(problem(api.post(path, {"name": "n", name: value}), 422)) == {name}


def test_somebody_elses(api: Api, bob: User, make_project: Callable[..., Any]) -> None:
    theirs = make_project(bob).id
    for method in ("GET", "POST", "DELETE"):
        problem(api.open(method, f"/projects/{theirs}"), 404)
    sent = {"location_url": "https://example.com/", "project_id": theirs}
    assert fields(problem(api.post("/links", sent), 422)) == {"project_id"}


@pytest.mark.databases
def test_totals(
    alice: User,
    factory: Any,
    count_clicks: Callable[[int, int], None],
    session: scoped_session[Session],
    database: str,
) -> None:
    full, empty = factory.project(alice), factory.project(alice)
    links = [factory.link(alice, project_id=full.id) for _ in range(3)]
    factory.link(alice)
    count_clicks(links[0].id, 5)
    count_clicks(links[2].id, 2)
    assert totals_by(Link.project_id, [full.id, empty.id]) == {
        full.id: LinkTotals(3, 7),
        empty.id: LinkTotals(),
    }
    assert totals_by(Link.project_id, []) == {}


def test_the_page_tells_the_totals(desk: Any, alice: User, factory: Any) -> None:
    project = factory.project(alice, name="Launch", color="#0b7285")
    factory.link(alice, project_id=project.id)
    page = desk.get("/projects/").text
    assert 'fill="#0b7285"' in page
    assert re.search(rf'href="/dashboard/links/\?project_id={project.id}">.*?<b>1</b> link<', page, re.DOTALL)
    assert "Launch" in desk.get("/links/").text


def test_a_project_is_made_and_changed_on_the_page(desk: Any, session: scoped_session[Session]) -> None:
    assert desk.post("/projects/new", {"name": "", "color": "blue"}).status_code == 422
    assert desk.post("/projects/new", {"name": "Launch", "color": "#0B7285"}).status_code == 303
    project = session.query(Project).one()
    assert (project.name, project.color) == ("Launch", "#0b7285")
    assert desk.post(f"/projects/{project.id}/delete", {}).status_code == 303
    assert session.query(Project).count() == 0
