"""API of pixels and handlers: the five operations, encodings and values, by the contract."""

from __future__ import annotations

from tests.api.shape import problem
from tests.clients import Api

PIXEL = {"type": "social_a", "name": "Shop", "pixel": "123"}


def test_what_is_no_text_in_json(api: Api) -> None:
    for value in (True, False, 1.5, ["Shop"], [], {"a": 1}):
        errors = problem(api.post("/pixels", json={**PIXEL, "name": value}), 422)
        assert [error["field"] for error in errors] == ["name"], value


def test_a_whole_number_is_a_text_in_json(api: Api) -> None:
    id_ = api.post("/pixels", json={**PIXEL, "pixel": 1234567890123456}).json["data"]["id"]
    assert api.get(f"/pixels/{id_}").json["data"]["pixel"] == "1234567890123456"


def test_what_is_a_boolean_in_json(api: Api) -> None:
    for value, status in ((True, 201), (1, 201), ("on", 201), (None, 201), (1.0, 422), ([True], 422)):
        sent = {"location_url": "https://example.com/", "is_enabled": value}
        assert api.post("/links", json=sent).status_code == status, value
