"""`explain`: what a simulated visitor gets and why, without counting it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.domains.models import Domain
from app.links.models import Link
from app.redirects.visitor import Visitor
from tests.clients import Api
from tests.geo.geo_files import ADDRESS, write_geo_file
from tests.redirects.conftest import PHONE
from tests.server import BROWSER

THERE = "https://example.com/there"
AFTER = "https://example.com/after"
VIDEO = "https://www.youtube.com/watch?v=dQw4w9WgXcQ"
BOT = "Googlebot/2.1 (+http://www.google.com/bot.html)"
BY_COUNTRY = {"targeting_type": "country_code", "targeting": [["DE", AFTER], ["BR", "https://br.example/"]]}
VISITOR = [
    "at", "ip", "country_code", "continent_code", "city_name", "user_agent", "is_bot", "device_type", "os_name",
    "browser_name", "accept_language", "languages", "query", "referrer", "unlocked",
]  # fmt: skip


def test_why_a_step_did_or_did_not_apply(api: Api, alice: User, make_link: Callable[..., Link]) -> None:
    link = make_link(alice, app_linking_is_enabled=True, **BY_COUNTRY)
    data = api.get(f"/links/{link.id}/explain", query_string={"country_code": "BR"}).json["data"]
    steps = {step["step"]: (step["matched"], step["detail"]) for step in data["steps"]}
    assert steps["clicks_limit"] == (False, "no limit")
    assert steps["targeting_type"] == (True, "country_code: br is pair 2: BR")
    assert steps["delivery"][1] == (
        "redirect with 302; no cloaking; apps open on phones and tablets, and this is an unknown device; no pixels"
    )


@pytest.mark.settings(PIXEL_CONSENT="ask")
def test_a_person_is_asked_about_them(
    api: Api, alice: User, make_link: Callable[..., Link], make_pixel: Callable[..., Any]
) -> None:
    link = make_link(alice, pixels=[make_pixel(alice)])
    assert api.get(f"/links/{link.id}/explain").json["data"]["outcome"] == "consent"


def test_an_address_has_its_place(app: Flask, api: Api, alice: User, make_link: Callable[..., Link]) -> None:
    write_geo_file(app.config["WAYPOST"].data_dir / "geo.mmdb")
    link = make_link(alice)
    data = api.get(f"/links/{link.id}/explain", query_string={"ip": ADDRESS}).json["data"]
    place = [data["visitor"][name] for name in ("ip", "continent_code", "country_code", "city_name")]
    assert place == [ADDRESS, "EU", "GB", "London"]


def test_the_visitor_as_it_was_understood(api: Api, alice: User, make_link: Callable[..., Link]) -> None:
    asked = {
        "user_agent": PHONE,
        "accept_language": "en;q=0.1,de-AT",
        "unlocked": "warning",
        "at": "2027-03-28",
    }
    data = api.get(f"/links/{make_link(alice).id}/explain", query_string=asked).json["data"]["visitor"]
    assert data == {
        **dict.fromkeys(VISITOR), "at": "2027-03-28 00:00:00", "user_agent": PHONE, "is_bot": False,
        "device_type": "mobile", "os_name": "iOS", "browser_name": "Safari",
        "accept_language": "en;q=0.1,de-AT", "languages": ["de-AT", "en"], "unlocked": ["warning"],
    }  # fmt: skip


SETTINGS: dict[str, dict[str, Any]] = {
    "plain": {},
    "off": {"is_enabled": False},
    "password": {"password_hash": "x"},
    "warning": {"sensitive_content": True},
    "limited": {"clicks_limit": 5},
    "cloaked": {"cloaking_is_enabled": True},
    "app": {"app_linking_is_enabled": True, "location_url": VIDEO},
    "device": {"targeting_type": "device_type", "targeting": [["mobile", AFTER], ["tablet", THERE + "2"]]},
    "language": {"targeting_type": "browser_language", "targeting": [["de", AFTER]]},
    "parameters": {"forward_query_parameters_is_enabled": True, "utm_source": "a b"},
    "ended": {"end_date": dt.datetime(2020, 1, 1, tzinfo=dt.UTC), "expiration_url": AFTER},
}


@pytest.mark.parametrize("columns", SETTINGS.values(), ids=SETTINGS)
def test_a_real_visitor_gets_the_same(
    api: Api, alice: User, make_link: Callable[..., Link], app: Flask, columns: dict[str, Any]
) -> None:
    link = make_link(alice, **{"location_url": THERE, **columns})
    for agent in (BROWSER, PHONE, BOT, ""):
        who = {"user_agent": agent, "accept_language": "de", "query": "a=%2B&b"}
        told = api.get(f"/links/{link.id}/explain", query_string=who).json["data"]
        headers = {"User-Agent": agent, "Accept-Language": "de"}
        real = app.test_client().get(f"/{link.url}?a=%2B&b", headers=headers)
        assert told["status"] == real.status_code
        assert real.location == (told["location"] if 300 <= told["status"] < 400 else None)


def test_an_edit_shows_at_once(
    api: Api, alice: User, make_link: Callable[..., Link], session: scoped_session[Session]
) -> None:
    link = make_link(alice)
    api.get(f"/links/{link.id}/explain")
    link.location_url = AFTER
    assert api.get(f"/links/{link.id}/explain").json["data"]["location"] == AFTER


DOMAINS = {
    "verified": ({"is_verified": True}, ("redirect", 302, THERE)),
    "not verified": ({}, ("not_found", 404, None)),
    "turned off": ({"is_verified": True, "is_enabled": False}, ("not_found", 404, None)),
}


@pytest.mark.parametrize(("columns", "expected"), DOMAINS.values(), ids=DOMAINS)
def test_a_domain_that_serves_or_does_not(
    api: Api,
    alice: User,
    make_link: Callable[..., Link],
    session: scoped_session[Session],
    columns: dict[str, Any],
    expected: tuple[str, int, str | None],
) -> None:
    link = on_domain(session, make_link, alice, columns)
    data = api.get(f"/links/{link.id}/explain").json["data"]
    assert (data["outcome"], data["status"], data["location"]) == expected


def test_a_domain_that_sends_people_elsewhere(
    api: Api, alice: User, make_link: Callable[..., Link], session: scoped_session[Session]
) -> None:
    link = on_domain(session, make_link, alice, {"is_verified": True, "custom_not_found_url": AFTER})
    link.is_enabled = False
    data = api.get(f"/links/{link.id}/explain").json["data"]
    assert (data["outcome"], data["status"], data["location"]) == ("not_found", 302, AFTER)


def on_domain(
    session: scoped_session[Session], make_link: Callable[..., Link], owner: User, columns: dict[str, Any]
) -> Link:
    domain = Domain(**access_of(owner).row_columns, host="go.example", token="t", **columns)
    session.add(domain)
    session.flush()
    return make_link(owner, location_url=THERE, domain_id=domain.id)


def test_nothing_of_who_asks_is_used(api: Api, alice: User, make_link: Callable[..., Link]) -> None:
    """The owner's own browser and language are not taken for the visitor's."""
    headers = {"User-Agent": BOT, "Accept-Language": "de", "Referer": "https://a.example/"}
    data = api.get(f"/links/{make_link(alice).id}/explain", headers=headers).json["data"]["visitor"]
    assert (data["user_agent"], data["languages"], data["is_bot"]) == (None, [], False)


def test_the_parts_that_a_real_visitor_has_are_all_supposable() -> None:
    parts = {name for name, part in vars(Visitor).items() if isinstance(part, property)}
    raw = {"address", "peer", "agent", "bot_name", "is_bot", "is_head", "is_prefetch", "refuses_pixels"}
    raw |= {"is_in_web_view", "is_preview_bot", "hashed_agent"}  # derived from the user agent alone
    read = {"language", "languages", "device", "location"}  # derived from parts that can be simulated
    assert parts - raw - read <= set(VISITOR)
