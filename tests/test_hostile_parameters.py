"""Hostile values in queries and headers: each request is answered or refused, and never fails."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import cycle
from typing import Any

import pytest
from flask import Flask
from werkzeug.routing import Rule

from app.accounts.models import User
from app.analytics.dimensions import DIMENSIONS
from app.dashboard.links.filters import LISTING
from app.dashboard.statistics.state import VIEWS
from app.openapi.operations import operations
from app.redirects.simulation.params import READ
from tests.clients import Api
from tests.dashboard.conftest import Desk, desk
from tests.factories import Factory
from tests.past import Past

__all__ = ["desk"]

SHORT = {
    "NUL": "a%00",
    "an encoded surrogate": "%ED%A0%80",
    "10^30": str(10**30),
    "a digit of another script": "%C2%B2",
    "the first day": "0001-01-01",
    "after the last moment": "9999-12-31T23:59:59-23:59",
    "an address that can't be split": "http://[/x",
    "a login that normalizes to more": "http://%E2%84%80@example.com/",
    "marks": "'%22`;--%5C%01%7F%E2%80%AE%EF%BB%BF",
}
LONG = {
    "long": "x" * 50_000,
    "signs of a pattern": "%25" * 1000,
    "many digits": "9" * 5000,
    "many members": "x," * 1000,
}
LISTS = ("page", "results_per_page", "order_by", "order_type", "columns", "not", "view", *LISTING.filters)
STATISTICS = (
    "period", "date", "start_date", "end_date", "timezone", "compare", "bots", "type", "format", "seen", "turned",
    *VIEWS, *DIMENSIONS,
)  # fmt: skip
OTHERS = (
    "copy", "location_url", "next", "token", "search", "page", "batch", "email", "size", "dark", "logo", "group",
    "from", "until", "before",
)  # fmt: skip
SEARCHED_PAGES = ("users", "audit_log", "deliveries")
LIST_PAGES = ("links", "links_export", "handlers", "pixels", "projects", "domains", "trash")


def names_of(rule: Rule) -> Iterator[str]:
    """The parameters that this page may read. Superfluous ones do no harm."""
    known = {f"/api{one.path}": one.query for one in operations() if one.method == "GET"}
    name = rule.endpoint.removeprefix("dashboard.")
    if (path := re.sub("<[^>]*>", "{id}", rule.rule)) in known:
        yield from known[path]
    elif "/statistics" in rule.rule:
        yield from STATISTICS
    elif name.endswith("_try"):
        yield from (*READ, "at", "unlocked")
    elif name in LIST_PAGES:
        yield from LISTS
    else:
        yield from OTHERS


def rules(app: Flask) -> Iterator[Rule]:
    for rule in app.url_map.iter_rules():
        blueprint = rule.endpoint.partition(".")[0]
        is_same_view = "_statistics" in rule.endpoint  # the views of one link or project are those of all
        if (
            "GET" in (rule.methods or ())
            and blueprint in {"api", "dashboard", "accounts"}
            and not is_same_view
        ):
            yield rule


@pytest.fixture
def ask(app: Flask, api: Api, desk: Desk, past: Past, alice: User, factory: Factory) -> Callable[..., int]:
    """The status of a GET by an admin who has one row of each kind, without rate limits."""
    factory.pixel(alice), factory.handler(alice), factory.domain(alice)
    alice.is_admin = True
    factory.session.commit()
    app.testing = False  # errors become responses, as in production
    app.config["WAYPOST"] = replace(app.config["WAYPOST"], api_rate_limit=0)

    def send(path: str, **more: Any) -> int:
        path = re.sub("<[^>]*>", "1", path)
        is_api = path.startswith("/api/")
        answer = api.get(path[4:], **more) if is_api else desk.client.get(path, **more)
        return answer.status_code

    return send


def is_searched(rule: Rule) -> bool:
    """Whether its parameters reach the database."""
    return [*names_of(rule)] != [*OTHERS] or rule.endpoint.endswith(SEARCHED_PAGES)


def queries_of(rule: Rule) -> Iterator[str]:
    """Short values go into all parameters at once, as all are read before one is refused; long ones into one
    alone."""
    names = [*dict.fromkeys(names_of(rule))]
    if not is_searched(rule):
        yield "&".join(f"{name}={value}" for name, value in zip(names, cycle(SHORT.values()), strict=False))
        return
    for value in SHORT.values():
        yield "&".join(f"{name}={value}" for name in names)
    for name in sorted({"search", "email", "unlocked", "city_name"} & {*names}):
        for value in LONG.values():
            yield f"{name}={value}"


@pytest.mark.full
@pytest.mark.databases
def test_no_parameter_breaks_an_answer(app: Flask, ask: Callable[..., int], database: str) -> None:
    broken = {
        (rule.endpoint, query[:80]): status
        for rule in rules(app)
        if is_searched(rule) or database == "sqlite"
        for query in queries_of(rule)
        if (status := ask(f"{rule.rule}?period=custom&{query}")) >= 500
    }
    assert not broken


HEADERS = (
    "HX-Current-URL",
    "Origin",
    "Referer",
    "Prefer",
    "Idempotency-Key",
    "If-None-Match",
    "If-Modified-Since",
)
HEADER_VALUES = {
    "an address that can't be split": "http://[/x?search=%00",
    "a login that normalizes to more": "http://\u2100@x/?page=x".encode().decode("latin-1"),
    "a query that can't be read": "/dashboard/links/?search=%ff&page=%00",
    "bytes": bytes(range(0x80, 0x100)).decode("latin-1"),
    "long": "a=b, " * 4000,
}


def test_no_header_breaks_an_answer(app: Flask, ask: Callable[..., int]) -> None:
    broken = {
        (rule.endpoint, label): status
        for rule in rules(app)
        if is_searched(rule) and not rule.endpoint.startswith("api.")
        for label, value in HEADER_VALUES.items()
        if (status := ask(rule.rule, headers={**dict.fromkeys(HEADERS, value), "HX-Request": "true"})) >= 500
    }
    assert not broken


def test_no_header_breaks_a_change(desk: Desk, app: Flask, api: Api) -> None:
    app.testing = False
    for value in HEADER_VALUES.values():
        headers = dict.fromkeys(HEADERS, value)
        assert api.post("/pixels", headers=headers).status_code in {400, 422}
        assert desk.post("/pixels/new", {}, headers=headers).status_code == 403


ODD = {
    "a login that normalizes to more": "http://\u2100@odd.example/",
    "a bracket in a login": "http://a[b@odd.example/",
    "a bracket behind it": "http://a]b@odd.example/",
}


@pytest.mark.parametrize("destination", ODD.values(), ids=ODD)
def test_no_destination_breaks_a_page(app: Flask, api: Api, desk: Desk, destination: str) -> None:
    """Destinations that browsers open, but for which `urlsplit` raises."""
    app.testing = False
    made = api.post("/links", data={"location_url": destination, "url": "odd", "cloaking_is_enabled": "1"})
    assert made.status_code == 201
    id_ = made.json["data"]["id"]
    for path in ("/links/", f"/links/{id_}", f"/links/{id_}/more"):
        assert desk.get(path).status_code == 200
    assert api.post(f"/links/{id_}", data={"cloaking_is_enabled": "0"}).status_code == 200
    assert "odd.example" in app.test_client().get("/odd+").text
    assert app.test_client().get("/odd").status_code == 302
