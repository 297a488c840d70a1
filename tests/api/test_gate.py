"""Checks of every API request, in the contract's order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from flask.testing import FlaskClient

from app.accounts.models import User
from tests.api.shape import always, problem
from tests.clients import Api

PATHS = ["/links", "/pixels", "/notification-handlers"]


def routes(app: Flask) -> list[tuple[str, str]]:
    """Every method and path under /api/, with an id that does not exist."""
    rules = [rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/api/")]
    return [
        (method, rule.rule.replace("<row_id:id>", "1").removeprefix("/api"))
        for rule in rules
        for method in sorted((rule.methods or set()) - {"HEAD"})
    ]


def test_all_routes_are_found(app: Flask) -> None:
    statistics = ["/statistics", "/statistics/clicks", "/statistics/1", "/statistics/1/clicks"]
    alone = ["/user", "/links/1/explain", *statistics]
    assert set(routes(app)) >= {("GET", path) for path in alone} | {
        (method, path + rest)
        for path in [*PATHS, "/projects", "/domains"]
        for method, rest in [("GET", ""), ("POST", ""), ("GET", "/1"), ("POST", "/1"), ("DELETE", "/1")]
    }


AUTHORIZATIONS = [
    None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic {key}", "{key}", "Bearer{key}", "Bearer {key}x",
    "Bearer {key} x", "Bearer {key}, Bearer {key}", 'Bearer "{key}"', "Bearer ä", "Token {key}",
]  # fmt: skip


@pytest.mark.parametrize("authorization", AUTHORIZATIONS)
def test_no_good_key(client: FlaskClient, api: Api, app: Flask, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.format(key=api.key)}
    closed = [route for route in routes(app) if route != ("GET", "/openapi.json")]
    for method, path in [*closed, ("GET", "/nothing"), ("PUT", "/links"), ("POST", "/links/x")]:
        answer = client.open(f"/api{path}", method=method, headers=headers)
        problem(answer, 401)
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_a_key_that_only_reads(app: Flask, make_api: Callable[..., Api], alice: User) -> None:
    reader = make_api(alice, "read")
    for method, path in routes(app):
        answer = reader.open(method, path)
        if path == "/subscriptions/samples":  # an event has to be named
            problem(answer, 422)
        elif method == "GET":
            assert answer.status_code in {200, 404}
        else:
            assert problem(answer, 403)[0]["code"] == "read_only_key"


def test_a_key_that_only_creates_links(app: Flask, make_api: Callable[..., Api], alice: User) -> None:
    creator = make_api(alice, "create")
    made = creator.post(
        "/links",
        {"location_url": "https://example.com/"},
        headers={"Prefer": "return=representation"},
    )
    assert (made.status_code, made.json["data"]["location_url"]) == (201, "https://example.com/")
    for method, path in routes(app):
        if (method, path) in {("POST", "/links"), ("GET", "/openapi.json")}:
            continue
        for verb in (method, "HEAD") if method == "GET" else (method,):
            answer = creator.open(verb, path)
            assert answer.status_code == 403, (verb, path)
            if verb != "HEAD":
                assert problem(answer, 403)[0]["code"] == "create_only_key"


def test_more_slashes_in_front_open_nothing(client: FlaskClient) -> None:
    for path in ("//api/user", "///api/links", "/api/../api/user", "/./api/user", "/api;x/user", "/API/user"):
        assert client.get(path).status_code in {401, 404}


def test_head_is_get_without_the_body(api: Api) -> None:
    answer = api.open("HEAD", "/pixels")
    assert answer.status_code == 200
    assert answer.data == b""
    assert int(answer.headers["Content-Length"]) == len(api.get("/pixels").data)
    always(answer)
