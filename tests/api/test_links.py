"""API of links: creation, changes, bad values and races, by the contract."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from io import BytesIO
from typing import Any

import pytest
from PIL import Image

from app.accounts.models import User
from tests.api.shape import problem
from tests.clients import Api

TO = "https://example.com/"
KEYS = (  # noqa: SIM905  a list of words reads worse
    "id project_id domain_id type url location_url settings clicks order start_date end_date datetime is_enabled "
    "last_datetime short_url title notes tags pixels_ids email_reports clicks_limit expiration_url schedule "
    "http_status_code app_linking_is_enabled cloaking_is_enabled cloaking_title cloaking_meta_description "
    "cloaking_custom_js cloaking_favicon cloaking_opengraph forward_query_parameters_is_enabled utm_source "
    "utm_medium utm_campaign targeting_type clicks_limit_confirmation_is_enabled"
).split()


def png() -> tuple[BytesIO, str]:
    content = BytesIO()
    Image.new("RGB", (8, 8), "red").save(content, "PNG")
    return BytesIO(content.getvalue()), "a.png"


def made(api: Api, **sent: Any) -> int:
    answer = api.post("/links", {"location_url": TO, **sent})
    assert answer.status_code == 201, answer.text
    return int(answer.json["data"]["id"])


def shown(api: Api, number: int) -> dict[str, Any]:
    data = api.get(f"/links/{number}").json["data"]
    assert list(data) == KEYS
    return dict(data)


def test_a_plain_link(api: Api) -> None:
    number = made(api, url="Hello")
    data = shown(api, number)
    assert data == {
        **dict.fromkeys(KEYS), "id": number, "domain_id": 0, "type": "link", "url": "Hello", "location_url": TO,
        "settings": {"password": None, "sensitive_content": False}, "clicks": 0, "order": 0, "is_enabled": True,
        "datetime": data["datetime"], "short_url": "http://localhost/Hello", "tags": [], "pixels_ids": [],
        "email_reports": [], "schedule": False, "http_status_code": 302, "app_linking_is_enabled": False,
        "cloaking_is_enabled": False, "forward_query_parameters_is_enabled": False,
        "clicks_limit_confirmation_is_enabled": False,
    }  # fmt: skip


@pytest.mark.databases
def test_everything_that_can_be_set(
    api: Api, alice: User, make_pixel: Callable[..., Any], make_handler: Callable[..., Any],
    count_clicks: Callable[[int, int], None], client: Any,
) -> None:  # fmt: skip
    pixels = [make_pixel(alice).id for _ in range(2)]
    handler = make_handler(alice).id
    sent = {
        "url": "ü-x", "title": "T", "notes": "a\nb", "tags": ["b", "a"], "pixels_ids": [pixels[1], pixels[0], pixels[1]],
        "email_reports": handler, "clicks_limit": "5", "clicks_limit_confirmation_is_enabled": "yes", "expiration_url": "https://example.com/over",
        "schedule": "1", "start_date": "2026-01-01", "end_date": "2026-02-01T10:00+02:00", "password": "secret",
        "sensitive_content": "on", "http_status_code": "307", "app_linking_is_enabled": "yes",
        "cloaking_is_enabled": "True", "cloaking_title": "CT", "cloaking_meta_description": "CD",
        "cloaking_custom_js": "1", "cloaking_favicon": png(), "cloaking_opengraph": png(),
        "forward_query_parameters_is_enabled": "1", "utm_source": "s", "utm_medium": "m", "utm_campaign": "c",
        "targeting_type": "country_code", "targeting_country_code_key[1]": "FR",
        "targeting_country_code_key[0]": "de", "targeting_country_code_value[0]": "https://example.com/de",
        "targeting_country_code_value[1]": "https://example.com/fr",
    }  # fmt: skip
    number = made(api, **sent)
    count_clicks(number, 3)
    data = shown(api, number)
    pictures = [data[name] for name in ("cloaking_favicon", "cloaking_opengraph")]
    for address in pictures:
        assert address.startswith("http://localhost/media/")
        assert client.get(address).status_code == 200
    assert data["settings"] == {
        "password": "********",
        "sensitive_content": True,
        "targeting_country_code": [
            {"key": "DE", "value": "https://example.com/de"},
            {"key": "FR", "value": "https://example.com/fr"},
        ],
    }
    expected = {
        "url": "ü-x", "short_url": "http://localhost/%C3%BC-x", "title": "T", "notes": "a\nb", "tags": ["b", "a"],
        "pixels_ids": pixels, "email_reports": [handler], "clicks": 3, "clicks_limit": 5, "schedule": True,
        "start_date": "2026-01-01 00:00:00", "end_date": "2026-02-01 08:00:00", "http_status_code": 307,
        "expiration_url": "https://example.com/over", "app_linking_is_enabled": True, "cloaking_is_enabled": True,
        "cloaking_title": "CT", "cloaking_meta_description": "CD", "cloaking_custom_js": "1",
        "forward_query_parameters_is_enabled": True, "utm_source": "s", "utm_medium": "m", "utm_campaign": "c",
        "targeting_type": "country_code", "clicks_limit_confirmation_is_enabled": True,
    }  # fmt: skip
    assert {name: data[name] for name in expected} == expected
    # what was not sent keeps its value; what is shown can be sent back
    again = {"cloaking_favicon": pictures[0], "password": "********"}
    assert api.post(f"/links/{number}", again).status_code == 200
    assert shown(api, number) == data


@pytest.mark.settings(BASE_URL="https://go.example")
def test_the_base_address(api: Api) -> None:
    number = made(api, url="x")
    assert shown(api, number)["short_url"] == "https://go.example/x"
    assert (
        api.post("/links", {"location_url": TO})
        .headers["Location"]
        .startswith("https://go.example/api/links/")
    )
    assert api.get("/links").json["links"]["self"] == "https://go.example/api/links?page=1"


@pytest.mark.databases
def test_a_pixel_deleted_between_check_and_write(
    api: Api, alice: User, make_pixel: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The pixel is deleted at the last possible moment: the write finds that and reports it."""
    from app.api import resource

    pixel = make_pixel(alice).id
    really, fired = resource.begin_write, []

    def meanwhile(session: Any) -> None:
        if not fired:
            fired.append(True)
            assert Context().run(api.delete, f"/pixels/{pixel}").status_code == 204
        really(session)

    monkeypatch.setattr(resource, "begin_write", meanwhile)
    problem(api.post("/links", {"location_url": TO, "pixels_ids": pixel}), 422)
    assert api.get("/links").json["data"] == []


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
