"""Checks of every API request, in the contract's order."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask.testing import FlaskClient

from app.accounts.models import User
from tests.api.shape import always, problem
from tests.clients import Api

AUTHORIZATIONS = [
    None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic {key}", "{key}", "Bearer{key}", "Bearer {key}x",
    "Bearer {key} x", "Bearer {key}, Bearer {key}", 'Bearer "{key}"', "Bearer ä", "Token {key}",
]  # fmt: skip


@pytest.mark.parametrize("authorization", AUTHORIZATIONS)
def test_no_good_key(client: FlaskClient, api: Api, authorization: str | None) -> None:
    headers = {} if authorization is None else {"Authorization": authorization.format(key=api.key)}
    for method, path in [("GET", "/links"), ("GET", "/nothing"), ("PUT", "/links"), ("POST", "/links/x")]:
        answer = client.open(f"/api{path}", method=method, headers=headers)
        problem(answer, 401)
        assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_what_a_key_may_not_do_has_a_code(make_api: Callable[..., Api], alice: User) -> None:
    reader, creator = make_api(alice, "read"), make_api(alice, "create")
    headers, sent = {"Prefer": "return=representation"}, {"location_url": "https://example.com/"}
    assert problem(reader.post("/links", sent), 403)[0]["code"] == "read_only_key"
    assert problem(creator.get("/links"), 403)[0]["code"] == "create_only_key"
    assert creator.post("/links", sent, headers=headers).json["data"]["location_url"] == sent["location_url"]


def test_more_slashes_in_front_open_nothing(client: FlaskClient) -> None:
    for path in ("//api/user", "///api/links", "/api/../api/user", "/./api/user", "/api;x/user", "/API/user"):
        assert client.get(path).status_code in {401, 404}


def test_head_is_get_without_the_body(api: Api) -> None:
    answer = api.open("HEAD", "/pixels")
    assert answer.status_code == 200
    assert answer.data == b""
    assert int(answer.headers["Content-Length"]) == len(api.get("/pixels").data)
    always(answer)
