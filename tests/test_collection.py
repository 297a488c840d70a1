"""The Postman collection: it has every call of the API, and what it sends is understood."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

from app.openapi.operations import operations
from scripts import collection
from tests.clients import Api

MADE = collection.render()


def requests_of(made: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for folder in made["item"]:
        for item in folder["item"]:
            yield item["request"]


def path_of(request: dict[str, Any]) -> str:
    """The path below `/api` with the values of its variables."""
    values = {one["key"]: one["value"] for one in request["url"]["variable"]}
    parts = [values[part[1:]] if part.startswith(":") else part for part in request["url"]["path"]]
    assert parts[0] == "api"
    return "/" + "/".join(parts[1:])


def test_it_has_every_call_once_in_folders_by_tag() -> None:
    places = sorted((request["method"], path_of(request)) for request in requests_of(MADE))
    assert places == sorted((one.method, one.path.replace("{id}", "1")) for one in operations())
    assert [folder["name"] for folder in MADE["item"]] == list(dict.fromkeys(one.tag for one in operations()))
    for one in operations():
        request = next(
            each
            for each in requests_of(MADE)
            if (each["method"], path_of(each)) == (one.method, one.path.replace("{id}", "1"))
        )
        assert [query["key"] for query in request["url"]["query"]] == list(one.query)
        assert ("body" in request) is (one.form is not None)


def test_no_key_is_in_it_and_the_address_is_a_variable() -> None:
    assert {one["key"]: one["value"] for one in MADE["variable"]} == {
        "base_url": "https://go.example",
        "api_key": "",
    }
    assert MADE["auth"]["bearer"][0]["value"] == "{{api_key}}"
    assert all(request["url"]["raw"].startswith("{{base_url}}/api/") for request in requests_of(MADE))
    assert [path_of(one) for one in requests_of(MADE) if one.get("auth")] == ["/openapi.json"]


def test_what_it_sends_is_understood(
    make_api: Callable[..., Api], make_link: Callable[..., Any], make_pixel: Callable[..., Any], alice: Any
) -> None:
    api = make_api(alice, changes_members=True)
    make_link(alice)
    make_pixel(alice)
    answers = {}
    for request in sorted(requests_of(MADE), key=lambda one: one["method"] == "DELETE"):
        query = {one["key"]: one["value"] for one in request["url"]["query"] if not one["disabled"]}
        sent = {"json": json.loads(request["body"]["raw"])} if "body" in request else {}
        answer = api.open(request["method"], path_of(request), query_string=query, **sent)
        answers[request["method"], path_of(request)] = answer.status_code
    wrong = {place: status for place, status in answers.items() if status not in {200, 201, 204}}
    # the trash is empty, the handler has no secret, its address is confirmed and it is no subscription; the
    # last owner stays
    allowed = {
        ("POST", "/trash/1/restore"): 404,
        ("POST", "/notification-handlers/1/secret"): 422,
        ("POST", "/notification-handlers/1/confirmation"): 422,
        ("GET", "/subscriptions/1"): 404,
        ("DELETE", "/subscriptions/1"): 404,
        ("POST", "/workspace/members/1"): 409,
        ("DELETE", "/workspace/members/1"): 409,
    }
    assert {place: status for place, status in wrong.items() if allowed.get(place) != status} == {}
