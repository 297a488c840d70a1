"""API of pixels and handlers: the five operations, encodings and values, by the contract."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from tests.api.shape import always, fields, problem
from tests.clients import Api

MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
PIXEL = {"type": "social_a", "name": "Shop", "pixel": "123"}
HANDLERS: dict[str, dict[str, str]] = {
    "email": {"email": "owner@example.com"},
    "webhook": {"webhook": "https://example.com/hook"},
    "chat_a": {"chat_a": "https://example.com/a"},
    "chat_b": {"chat_b": "https://example.com/b"},
    "chat_c": {"chat_c": "123:abc", "chat_c_chat_id": "-100"},
    "chat_d": {"chat_d": "https://example.com/d"},
    "google_chat": {"google_chat": "https://example.com/e?token=1"},
    "gotify": {"gotify": "https://example.com", "gotify_token": "A1"},
    "matrix": {"matrix": "https://example.com", "matrix_room_id": "!r:example.com", "matrix_token": "t"},
    "mattermost": {"mattermost": "https://example.com/hooks/f"},
    "ntfy": {"ntfy": "https://ntfy.example", "ntfy_topic": "t"},
    "pushover": {"pushover": "a" * 30, "pushover_user_key": "u" * 30},
}


def made(api: Api, path: str, sent: dict[str, Any]) -> int:
    answer = api.post(path, sent)
    assert answer.status_code == 201, answer.text
    always(answer)
    number = answer.json["data"]["id"]
    assert answer.json == {"data": {"id": number}}
    assert answer.headers["Location"] == f"http://localhost/api{path}/{number}"
    return int(number)


@pytest.mark.databases
def test_the_whole_life_of_a_pixel(api: Api) -> None:
    number = made(api, "/pixels", PIXEL)
    data = api.get(f"/pixels/{number}").json["data"]
    assert list(data) == ["id", "type", "name", "pixel", "last_datetime", "datetime"]
    assert MOMENT.fullmatch(data.pop("datetime"))
    assert data == {"id": number, **PIXEL, "last_datetime": None}
    answer = api.post(f"/pixels/{number}", {"name": "Other"})
    assert (answer.status_code, answer.json) == (200, {"data": {"id": number}})
    data = api.get(f"/pixels/{number}").json["data"]
    assert (data["name"], data["pixel"]) == ("Other", "123")
    assert MOMENT.fullmatch(data["last_datetime"])
    gone = api.delete(f"/pixels/{number}")
    assert (gone.status_code, gone.data) == (204, b"")
    always(gone)
    for method in ("GET", "POST", "DELETE"):
        problem(api.open(method, f"/pixels/{number}"), 404)


@pytest.mark.databases
@pytest.mark.parametrize(
    "sent", [None, {"id": "5", "clicks": "9", "unknown": "x"}], ids=["nothing", "ignored fields"]
)
def test_what_edits_nothing_is_no_edit(api: Api, sent: Any) -> None:
    paths = {
        "/links": {"location_url": "https://example.com/", "url": "a", "password": "secret", "targeting_type": "rotation"},
        "/pixels": PIXEL,
        "/notification-handlers": {"type": "webhook", "name": "n", "webhook": "https://example.com/"},
        "/projects": {"name": "n"},
        "/domains": {"host": "go.elsewhere.example"},
    }  # fmt: skip
    for path, example in paths.items():
        number = made(api, path, example)
        before = api.get(f"{path}/{number}").json["data"]
        answer = api.post(f"{path}/{number}", sent)
        assert (answer.status_code, answer.json) == (200, {"data": {"id": number}}), path
        assert api.get(f"{path}/{number}").json["data"] == before, path
        assert before["last_datetime"] is None


@pytest.mark.parametrize(("text", "stored"), [("+307", 307), ("307", 307)])
def test_a_kind_of_redirect_is_an_integer(api: Api, text: str, stored: int) -> None:
    number = made(api, "/links", {"location_url": "https://example.com/", "http_status_code": text})
    assert api.get(f"/links/{number}").json["data"]["http_status_code"] == stored
    for wrong in ("-307", "+303", "307.0", "++307", "٣٠٧", "3e2"):
        problem(api.post(f"/links/{number}", {"http_status_code": wrong}), 422)


def test_location_is_where_it_lies(api: Api, client: Any) -> None:
    location = api.post("/pixels", PIXEL).headers["Location"]
    assert client.get(location, headers={"Authorization": f"Bearer {api.key}"}).status_code == 200


@pytest.mark.parametrize("type_", HANDLERS)
def test_each_type_of_handler(api: Api, make_api: Callable[..., Api], alice: User, type_: str) -> None:
    number = made(api, "/notification-handlers", {"type": type_, "name": "n", **HANDLERS[type_]})
    data = api.get(f"/notification-handlers/{number}").json["data"]
    assert list(data) == [
        "id",
        "type",
        "name",
        "settings",
        "is_enabled",
        "last_datetime",
        "datetime",
        "is_confirmed",
        "events",
        "scope",
        "click_filter",
    ]
    assert (data["id"], data["type"], data["is_enabled"], data["last_datetime"]) == (
        number,
        type_,
        True,
        None,
    )
    assert data["settings"].items() >= HANDLERS[type_].items()
    masked = make_api(alice, "read").get(f"/notification-handlers/{number}").json["data"]["settings"]
    assert list(masked) == list(data["settings"])
    for hidden in {"webhook": ["secret"], "chat_c": ["chat_c"]}.get(type_, []):
        assert masked[hidden] == "********"
    assert data["settings"].get("secret", "whsec_").startswith("whsec_")


@pytest.mark.databases
def test_a_handler_is_switched_off_and_on(api: Api) -> None:
    number = made(api, "/notification-handlers", {"type": "email", "name": "n", "email": "a@example.com"})
    for word, expected in [("0", False), ("true", True), ("off", False), ("", False), ("1", True)]:
        assert api.post(f"/notification-handlers/{number}", {"is_enabled": word}).status_code == 200
        assert api.get(f"/notification-handlers/{number}").json["data"]["is_enabled"] is expected


@pytest.mark.parametrize(
    "prefer", ["return=representation", 'Return="representation"', "wait=1, return=representation"]
)
def test_the_whole_object_where_it_is_preferred(api: Api, prefer: str) -> None:
    answer = api.post("/pixels", PIXEL, headers={"Prefer": prefer})
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (201, "return=representation")
    data = answer.json["data"]
    assert data == api.get(f"/pixels/{data['id']}").json["data"]
    answer = api.post(f"/pixels/{data['id']}", {"name": "m"}, headers={"Prefer": prefer})
    assert (answer.status_code, answer.headers["Preference-Applied"]) == (200, "return=representation")
    assert answer.json["data"] == api.get(f"/pixels/{data['id']}").json["data"]
    assert answer.json["data"]["name"] == "m"


@pytest.mark.parametrize("prefer", ["return=minimal", "representation", "return=representations", ""])
def test_other_preferences_change_nothing(api: Api, prefer: str) -> None:
    answer = api.post("/pixels", PIXEL, headers={"Prefer": prefer})
    assert list(answer.json["data"]) == ["id"]
    assert "Preference-Applied" not in answer.headers


@pytest.mark.databases
def test_nothing_changes_where_anything_is_wrong(api: Api) -> None:
    number = made(api, "/pixels", PIXEL)
    before = api.get(f"/pixels/{number}").json
    assert fields(problem(api.post(f"/pixels/{number}", {"name": "new", "type": "x", "pixel": ""}), 422)) == {
        "type",
        "pixel",
    }
    assert api.get(f"/pixels/{number}").json == before


def test_fields_that_nobody_sets_are_ignored(api: Api, bob: User) -> None:
    number = made(
        api,
        "/pixels",
        {**PIXEL, "id": "77", "user_id": str(bob.id), "datetime": "2000-01-01", "nonsense": "1"},
    )
    data = api.get(f"/pixels/{number}").json["data"]
    assert not data["datetime"].startswith("2000")


def test_an_update_of_nothing(api: Api) -> None:
    number = made(api, "/pixels", PIXEL)
    assert api.post(f"/pixels/{number}").status_code == 200


@pytest.mark.parametrize("encoding", ["multipart/form-data", "application/x-www-form-urlencoded", "json"])
def test_every_encoding(api: Api, encoding: str) -> None:
    sent = {"json": PIXEL} if encoding == "json" else {"data": PIXEL, "content_type": encoding}
    number = api.post("/pixels", **sent).json["data"]["id"]
    assert api.get(f"/pixels/{number}").json["data"]["name"] == "Shop"


@pytest.mark.parametrize(("text", "status"), [("a\0b", 400), ("\ud800", 422)])
@pytest.mark.parametrize("field", ["name", "unknown"])
def test_nul_and_lone_surrogates(api: Api, text: str, status: int, field: str) -> None:
    problem(api.post("/pixels", json={**PIXEL, field: text}), status)
    problem(api.post("/pixels", json={**PIXEL, f"{field}{text}": "a"}), status)
    assert api.get("/pixels").json["meta"]["total"] == 0


@pytest.mark.parametrize("value", [True, False, 1.5, ["Shop"], [], {"a": 1}])
def test_what_is_no_text_in_json(api: Api, value: object) -> None:
    errors = problem(api.post("/pixels", json={**PIXEL, "name": value}), 422)
    assert [error["field"] for error in errors] == ["name"]


def test_a_whole_number_is_a_text_in_json(api: Api) -> None:
    id_ = api.post("/pixels", json={**PIXEL, "pixel": 1234567890123456}).json["data"]["id"]
    assert api.get(f"/pixels/{id_}").json["data"]["pixel"] == "1234567890123456"


@pytest.mark.parametrize(
    ("value", "status"), [(True, 201), (1, 201), ("on", 201), (None, 201), (1.0, 422), ([True], 422)]
)
def test_what_is_a_boolean_in_json(api: Api, value: object, status: int) -> None:
    sent = {"location_url": "https://example.com/", "is_enabled": value}
    assert api.post("/links", json=sent).status_code == status
