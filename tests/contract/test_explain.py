"""Section 3, "Explain": what a simulated visitor gets, and why."""

from __future__ import annotations

from typing import Any
from urllib.parse import quote

import pytest

from tests.contract.client import PERSON, THERE, Client, fields, problem

AFTER = "https://example.com/after"
PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 (KHTML, like Gecko) Version/17.0 Mobile/15E148 Safari/604.1"
PREVIEWER = "facebookexternalhit/1.1 (+http://www.facebook.com/externalhit_uatext.php)"
VIDEO = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
YES = 1

# the link's fields, the query, and the expected outcome, status and location
OUTCOMES: dict[str, tuple[dict[str, Any], str, tuple[str, int, str | None]]] = {
    "redirect": ({}, "", ("redirect", 302, THERE)),
    "redirect with its own code": ({"http_status_code": 308}, "", ("redirect", 308, THERE)),
    "cloak": ({"cloaking_is_enabled": YES}, "", ("cloak", 200, THERE)),
    "preview of a cloaked link": ({"cloaking_is_enabled": YES}, f"user_agent={quote(PREVIEWER)}", ("preview", 200, None)),
    "preview of a limited link": ({"clicks_limit": 5}, f"user_agent={quote(PREVIEWER)}", ("preview", 200, None)),
    "app": ({"location_url": VIDEO, "app_linking_is_enabled": YES}, f"user_agent={quote(PHONE)}", ("app", 200, VIDEO)),
    "no app on a desktop": ({"location_url": VIDEO, "app_linking_is_enabled": YES}, "", ("redirect", 302, VIDEO)),
    "password": ({"password": "x"}, "", ("password", 200, None)),
    "password given": ({"password": "x"}, "unlocked=1", ("redirect", 302, THERE)),
    "a bot is asked all the same": ({"password": "x"}, f"unlocked=1&user_agent={quote(PREVIEWER)}", ("password", 200, None)),
    "warning": ({"sensitive_content": YES}, "", ("warning", 200, None)),
    "warning read": ({"sensitive_content": YES}, "unlocked=1", ("redirect", 302, THERE)),
    "password before the warning": ({"password": "x", "sensitive_content": YES}, "", ("password", 200, None)),
    "not_found": ({"is_enabled": 0}, "", ("not_found", 404, None)),
    "not_yet": ({"schedule": 1, "start_date": "2090-01-01"}, "", ("not_yet", 404, None)),
    "not_yet, at its first moment no more": ({"schedule": 1, "start_date": "2090-01-01"}, "at=2090-01-01T00:00:00Z", ("redirect", 302, THERE)),
    "before its end": ({"schedule": 1, "end_date": "2090-01-01"}, "at=2089-12-31T23:59:59Z", ("redirect", 302, THERE)),
    "expired, from its end on": ({"schedule": 1, "end_date": "2090-01-01"}, "at=2090-01-01T00:00:00Z", ("expired", 410, None)),
    "expired, and where it leads then": ({"schedule": 1, "end_date": "2020-01-01", "expiration_url": AFTER}, "", ("expired", 302, AFTER)),
    "disabled before anything else": ({"is_enabled": 0, "schedule": 1, "start_date": "2090-01-01", "password": "x"}, "", ("not_found", 404, None)),
    "not active yet before a limit and a password": ({"schedule": 1, "start_date": "2090-01-01", "clicks_limit": 1, "password": "x"}, "", ("not_yet", 404, None)),
    "a warning before a cloak": ({"cloaking_is_enabled": YES, "sensitive_content": YES}, "", ("warning", 200, None)),
    "a cloak before an app": ({"location_url": VIDEO, "app_linking_is_enabled": YES, "cloaking_is_enabled": YES}, f"user_agent={quote(PHONE)}", ("cloak", 200, VIDEO)),
    "over before anything is asked": ({"schedule": 1, "end_date": "2020-01-01", "password": "x"}, "", ("expired", 410, None)),
}  # fmt: skip


def told(api: Client, link: int, query: str = "") -> tuple[str, int, str | None]:
    asked = query if "user_agent" in query else f"{query}&user_agent={quote(PERSON)}"
    data = api.data(f"/links/{link}/explain?{asked}")
    return data["outcome"], data["status"], data["location"]


@pytest.mark.parametrize("name", OUTCOMES)
def test_each_outcome(api: Client, name: str) -> None:
    sent, query, wanted = OUTCOMES[name]
    assert told(api, api.link(**sent), query) == wanted


def test_a_used_up_limit(api: Client) -> None:
    link = api.link(clicks_limit=1)
    assert told(api, link) == ("redirect", 302, THERE)
    assert api.visit(link).status_code == 302
    assert told(api, link) == ("limit", 410, None)
    api.post(f"/links/{link}", {"expiration_url": AFTER})
    assert told(api, link) == ("limit", 302, AFTER)


def test_pixels(api: Client) -> None:
    """The outcome is `consent` where the server asks first; bots get no pixels."""
    link = api.link(pixels_ids=api.make("/pixels", type="social_a", name="n", pixel="1"))
    outcome, status, location = told(api, link)
    assert (outcome in {"pixels", "consent"}, status, location) == (True, 200, THERE)
    assert (outcome == "consent") is ('name="consent"' in api.visit(link).text)
    assert told(api, link, f"user_agent={quote(PREVIEWER)}") == ("redirect", 302, THERE)


SUPPOSED = {
    "continent_code": ("EU", "continent_code=EU", "continent_code=AS"),
    "country_code": ("DE", "country_code=DE", "country_code=FR"),
    "city_name": ("Berlin", "city_name=Berlin&country_code=DE", "city_name=Paris"),
    "device_type": ("mobile", "device_type=mobile", "device_type=desktop"),
    "browser_language": ("de", "accept_language=de-AT", "accept_language=fr"),
    "os_name": ("iOS", "os_name=iOS", "os_name=Windows"),
    "browser_name": ("Safari", "browser_name=Safari", "browser_name=Chrome"),
}


@pytest.mark.parametrize("type_", SUPPOSED)
def test_who_is_supposed(api: Client, type_: str) -> None:
    key, fits, fits_not = SUPPOSED[type_]
    pair = {f"targeting_{type_}_key[0]": key, f"targeting_{type_}_value[0]": AFTER}
    link = api.link(targeting_type=type_, **pair)
    assert told(api, link, fits) == ("redirect", 302, AFTER)
    assert told(api, link, fits_not) == ("redirect", 302, THERE)


def test_the_steps_and_the_visitor(api: Client) -> None:
    data = api.data(f"/links/{api.link(clicks_limit=9)}/explain?user_agent={quote(PHONE)}&query=a%3D1")
    assert set(data) == {"outcome", "status", "location", "steps", "visitor"}
    assert all(set(step) >= {"step", "matched", "detail"} for step in data["steps"])
    assert (
        data["visitor"].items()
        >= {"device_type": "mobile", "os_name": "iOS", "browser_name": "Safari"}.items()
    )


def test_the_visitors_query(api: Client) -> None:
    link = api.link(forward_query_parameters_is_enabled=1, utm_source="letter")
    assert told(api, link, "query=a%3D1") == ("redirect", 302, f"{THERE}?utm_source=letter&a=1")


def test_it_counts_nothing(api: Client) -> None:
    link = api.link(clicks_limit=1)
    assert [told(api, link) for _ in range(3)] == [("redirect", 302, THERE)] * 3
    assert api.data(f"/links/{link}")["clicks"] == 0
    assert api.visit(link).status_code == 302


def test_every_bad_question_at_once(api: Client) -> None:
    bad = {
        "at": "yesterday",
        "ip": "1.2.3",
        "country_code": "XX",
        "continent_code": "ZZ",
        "device_type": "watch",
    }
    assert fields(api.get(f"/links/{api.link()}/explain", params=bad)) == set(bad)


def test_another_users_link_is_as_none(api: Client, other: Client) -> None:
    problem(other.get(f"/links/{api.link()}/explain"), 404)
