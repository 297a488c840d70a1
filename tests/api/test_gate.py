"""Checks of every API request, in the contract's order."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.datastructures import FileStorage
from werkzeug.test import encode_multipart

from app.accounts.models import ApiKey, User
from tests.api.shape import always, fields, problem
from tests.clients import Api

PATHS = ["/links", "/pixels", "/notification-handlers"]
PIXEL = {"type": "social_a", "name": "n", "pixel": "1"}


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


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER", "bEaReR", "Bearer  "])
def test_the_scheme_in_any_case(client: FlaskClient, api: Api, scheme: str) -> None:
    answer = client.get("/api/user", headers={"Authorization": f"{scheme} {api.key}"})
    assert answer.status_code == 200


def test_a_key_in_the_query_is_ignored(client: FlaskClient, api: Api) -> None:
    for name in ("api_key", "key", "access_token", "Authorization"):
        problem(client.get("/api/user", query_string={name: api.key}), 401)


def test_a_revoked_and_an_expired_key(
    client: FlaskClient, alice: User, make_key: Callable[..., tuple[ApiKey, str]]
) -> None:
    past = dt.datetime.now(dt.UTC) - dt.timedelta(seconds=1)
    for column in ("revoked_datetime", "expires_datetime"):
        _, text = make_key(alice, **{column: past})
        problem(Api(client, text).get("/user"), 401)


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


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE"])
def test_another_users_is_exactly_as_none(
    path: str, method: str, api: Api, bob: User, make_api: Callable[..., Api], request: pytest.FixtureRequest
) -> None:
    makers = {"/links": "make_link", "/pixels": "make_pixel", "/notification-handlers": "make_handler"}
    theirs = request.getfixturevalue(makers[path])(bob)
    stranger = api.open(method, f"{path}/{theirs.id}")
    nobody = api.open(method, f"{path}/987654321")
    problem(stranger, 404)
    assert str(stranger.json).replace(str(theirs.id), "N") == str(nobody.json).replace("987654321", "N")
    assert make_api(bob).get(f"{path}/{theirs.id}").status_code == 200


UNKNOWN = [
    "/", "/nothing", "/links/x", "/links/0", "/links/-1", "/links/1.0", "/links/01", "/links/١", "/links/1/",
    "/links/1/x", "/links//", "//links", "/links/99999999999999999999", "/Links", "/user/1", "/links/%31%00",
]  # fmt: skip


@pytest.mark.parametrize("path", UNKNOWN)
def test_unknown_paths(api: Api, path: str) -> None:
    for method in ("GET", "POST", "DELETE"):
        problem(api.open(method, path), 404)


@pytest.mark.parametrize("slash", ["", "/"])
def test_each_path_with_and_without_slash(
    api: Api, make_pixel: Callable[..., Any], alice: User, slash: str
) -> None:
    assert api.get(f"/pixels{slash}").status_code == 200
    assert api.post(f"/pixels{slash}", PIXEL).status_code == 201
    pixel = make_pixel(alice)
    assert api.get(f"/pixels/{pixel.id}{slash}").status_code == 200
    assert api.post(f"/pixels/{pixel.id}{slash}", {"name": "m"}).status_code == 200
    assert api.delete(f"/pixels/{pixel.id}{slash}").status_code == 204
    assert api.get(f"/user{slash}").status_code == 200


@pytest.mark.parametrize("method", ["PUT", "PATCH", "OPTIONS", "TRACE", "PROPFIND"])
def test_other_methods(api: Api, method: str) -> None:
    for path, allowed in [
        ("/user", "GET, HEAD"),
        ("/links", "GET, HEAD, POST"),
        ("/links/1", "DELETE, GET, HEAD, POST"),
    ]:
        answer = api.open(method, path)
        problem(answer, 405)
        assert answer.headers["Allow"] == allowed


def test_more_slashes_in_front_open_nothing(client: FlaskClient) -> None:
    for path in ("//api/user", "///api/links", "/api/../api/user", "/./api/user", "/api;x/user", "/API/user"):
        assert client.get(path).status_code in {401, 404}


def test_head_is_get_without_the_body(api: Api) -> None:
    answer = api.open("HEAD", "/pixels")
    assert answer.status_code == 200
    assert answer.data == b""
    assert int(answer.headers["Content-Length"]) == len(api.get("/pixels").data)
    always(answer)


def test_accept_is_ignored(api: Api) -> None:
    for accept in ("text/html", "application/xml", "nonsense", "*/*;q=0"):
        answer = api.get("/user", headers={"Accept": accept})
        assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")


ORDER: list[tuple[str, str, str, dict[str, Any], int]] = [
    # scope, method, path, what is sent, and the status of the first error in it
    ("read", "POST", "/nothing", {"data": b"x"}, 404),
    ("read", "PUT", "/pixels/1", {"data": b"x"}, 405),
    ("read", "POST", "/pixels/1", {"data": b"x"}, 403),
    ("create", "POST", "/nothing", {"data": b"x"}, 404),
    ("create", "GET", "/links/1", {}, 403),
    ("create", "POST", "/links/1", {"data": b"x"}, 403),
    ("create", "POST", "/links", {"data": b"x", "content_type": "text/plain"}, 415),
    ("write", "POST", "/pixels/1", {"data": b"{", "content_type": "text/plain"}, 415),
    ("write", "POST", "/pixels/1", {"data": b"{", "content_type": "application/json"}, 400),
    ("write", "POST", "/links/1", {"data": {"k": ["v"] * 1001}}, 413),
    (
        "write",
        "POST",
        "/links/1",
        {"data": {"cloaking_favicon": b"x" * 600_000, "url": "a b"}},
        413,
    ),
    ("write", "POST", "/pixels/1", {"json": {"type": "nonsense"}}, 404),
    ("write", "POST", "/pixels", {"json": {"type": "nonsense"}}, 422),
]


@pytest.mark.parametrize(("scope", "method", "path", "sent", "status"), ORDER)
def test_the_first_that_is_wrong_answers(
    scope: str,
    method: str,
    path: str,
    sent: dict[str, Any],
    status: int,
    make_api: Callable[..., Api],
    alice: User,
) -> None:
    if isinstance(sent.get("data"), dict):
        data = {
            k: FileStorage(BytesIO(v), "a.png") if isinstance(v, bytes) else v
            for k, v in sent["data"].items()
        }
        boundary, body = encode_multipart(data)
        sent = {"data": body, "content_type": f"multipart/form-data; boundary={boundary}"}
    problem(make_api(alice, scope).open(method, path, **sent), status)


def test_every_bad_field_is_named_at_once(api: Api) -> None:
    assert fields(problem(api.post("/pixels", {"type": "x", "pixel": "a b"}), 422)) == {
        "type",
        "name",
        "pixel",
    }
    assert api.get("/pixels").json["data"] == []


def test_the_user(api: Api, alice: User) -> None:
    data = api.get("/user").json["data"]
    assert list(data) == ["id", "email", "name", "timezone", "language", "is_admin", "datetime", "workspace"]
    assert (data["id"], data["email"], data["is_admin"]) == (alice.id, "alice@example.com", True)


IDS = {"plain": "abc.DEF_1-2", "made": "", "long": "x" * 65, "odd": "a b", "script": "<script>"}


@pytest.mark.parametrize("sent", IDS.values(), ids=IDS.keys())
def test_the_request_id(api: Api, client: FlaskClient, sent: str) -> None:
    for answer in (
        api.get("/user", headers={"X-Request-Id": sent}),
        client.get("/nothing/here", headers={"X-Request-Id": sent}),
    ):
        found = answer.headers["X-Request-Id"]
        assert found == sent if sent == IDS["plain"] else len(found) == 32 and found != sent
