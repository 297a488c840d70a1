"""Filters of the list of links that take several values, and "is not"."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.input import listing
from app.links.models import Link
from tests.dashboard.conftest import Desk


@pytest.fixture
def ids(alice: User, factory: Any, session: scoped_session[Session]) -> dict[str, int]:
    """Links a (red, in project one), b (red, blue, in project two), c (blue, off, a domain), d (nothing)."""
    one, two = factory.project(alice, name="One"), factory.project(alice, name="Two")
    domain, pixel, handler = factory.domain(alice, "go.example"), factory.pixel(alice), factory.handler(alice)
    a = factory.link(alice, "a", tags=("red",), project_id=one.id, cloaking_is_enabled=True)
    b = factory.link(alice, "b", tags=("red", "blue"), project_id=two.id)
    b.targeting_type, b.targeting = "device_type", [["mobile", "https://m.example/"]]
    factory.link(alice, "c", tags=("blue", "a,b"), is_enabled=False, domain_id=domain.id)
    factory.link(alice, "d")
    a.pixels, b.handlers = [pixel], [handler]
    session.commit()
    return {
        "ONE": one.id,
        "TWO": two.id,
        "DOMAIN": domain.id,
        "PIXEL": pixel.id,
        "HANDLER": handler.id,
    }


QUERIES = {
    "one value": ("tag=red", "ab"),
    "any of two": ("tag=red&tag=blue", "abc"),
    "a value twice": ("tag=red&tag=red", "ab"),
    "a value with a comma": ("tag=a,b", "c"),
    "is not, a link without tags too": ("tag=red&not=tag", "cd"),
    "is none of two": ("tag=red&tag=blue&not=tag", "d"),
    "not without a value": ("not=tag", "abcd"),
    "not with an empty value": ("tag=&not=tag&not=", "abcd"),
    "two projects": ("project_id=ONE&project_id=TWO", "ab"),
    "a project or none": ("project_id=ONE&project_id=0", "acd"),
    "is not a project, a link without one too": ("project_id=ONE&not=project_id", "bcd"),
    "is not without a project": ("project_id=0&not=project_id", "ab"),
    "is not a domain": ("domain_id=DOMAIN&not=domain_id", "abd"),
    "is not a pixel": ("pixel_id=PIXEL&not=pixel_id", "bcd"),
    "is not a handler": ("handler_id=HANDLER&not=handler_id", "acd"),
    "two states": ("state=active&state=off", "abcd"),
    "is not a state": ("state=off&not=state", "abd"),
    "two settings": ("rule=targeting&rule=cloaking", "ab"),
    "is not targeted": ("rule=device_type&not=rule", "acd"),
    "two filters, one is not": ("tag=red&tag=blue&project_id=ONE&not=project_id", "bc"),
    "two filters, both are not": ("tag=red&not=tag&state=off&not=state", "d"),
    "with a search": ("search=b&tag=red&not=tag", "c"),
}


def found(page: str) -> str:
    return "".join(sorted(re.findall(r'<a class="name" href="[^"]*/(\w)"', page)))


def filled(query: str, ids: dict[str, int]) -> str:
    for name, id_ in ids.items():
        query = query.replace(f"={name}", f"={id_}")
    return query


@pytest.mark.databases
def test_what_filters_find(desk: Desk, ids: dict[str, int]) -> None:
    answers = {
        name: found(desk.get(f"/links/?{filled(query, ids)}").text) for name, (query, _) in QUERIES.items()
    }
    assert answers == {name: wanted for name, (_, wanted) in QUERIES.items()}


def test_the_export_and_bulk_changes_find_the_same(
    desk: Desk, ids: dict[str, int], session: scoped_session[Session]
) -> None:
    rows = csv.DictReader(io.StringIO(desk.get("/links/export.csv?tag=red&tag=blue&not=tag").text))
    assert [row["url"] for row in rows] == ["d"]
    page = desk.get("/links/?tag=red&tag=blue&not=tag&page=1").text
    query = re.search(r'name="query" value="([^"]+)"', page)
    assert query
    sent = {"do": "off", "all": "1", "query": query[1].replace("&amp;", "&")}
    assert desk.post("/links/many", sent).status_code == 303
    session.rollback()
    off = session.scalars(select(Link.url).where(~Link.is_enabled).order_by(Link.url)).all()
    assert list(off) == ["c", "d"]


def test_what_can_not_be_used_is_refused(desk: Desk, ids: dict[str, int]) -> None:
    refused = {
        "state=active&state=nope": "state: This must be one of",
        "not=clicks": "not: This must be one of",
        "project_id=1&project_id=x": "project_id: ",
        "&".join(
            f"tag=t{number}" for number in range(listing.MAX_VALUES + 1)
        ): "tag: There may be at most 50 values.",
    }
    for query, told in refused.items():
        answer = desk.get(f"/links/?{query}")
        assert (answer.status_code, told in answer.text) == (422, True), query
    assert desk.get("/links/?search=a&endpoint=b&_external=1&kind=json").status_code == 200
