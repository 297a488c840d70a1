"""“Try as visitor”: it says in words what the simulated visitor gets and why, with and without htmx."""

from __future__ import annotations

import datetime as dt
import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.dashboard.links.verdicts import QUESTIONS, VERDICTS
from app.links.language_names import describe_language
from app.links.models import Link
from app.redirects.resolve import STEPS
from tests.dashboard.conftest import HTMX, Desk
from tests.geo.geo_files import ADDRESS, write_geo_file

THERE = "https://example.com/there"
AFTER = "https://example.com/after"
THEN = dt.datetime(2027, 3, 28, 1, tzinfo=dt.UTC)
BY_COUNTRY = {"targeting_type": "country_code", "targeting": [["DE", AFTER]]}
BOT = "Googlebot/2.1 (+http://www.google.com/bot.html)"
LIMITED = {"clicks_limit": 5, "clicks_limit_confirmation_is_enabled": True}
NOTHING_SHOWS = "The destination is not shown."

ROWS: dict[str, tuple[dict[str, Any], dict[str, Any], list[str]]] = {
    "nothing special": ({}, {}, ["Redirects to the address below", THERE, "Counts as a click", "Answer 302"]),
    "a country that fits": (BY_COUNTRY, {"country_code": "DE"}, [AFTER, "Germany", "Country: de is line 1: DE"]),
    "a country that does not": (
        BY_COUNTRY, {"country_code": "FR"}, [THERE, "Country: fr is none of: DE"]),
    "off": ({"is_enabled": False}, {}, ["Not found", "The link is disabled", "Counts as no click"]),
    "too early, in the owner's zone": (
        {"start_date": THEN}, {"at": "2027-03-28T01:59"}, ["Is too early", "Starts 28 March 2027, 03:00"]),
    "in time, in the owner's zone": (
        {"start_date": THEN}, {"at": "2027-03-28T03:00"}, ["Redirects to the address below"]),
    "too late": ({"end_date": THEN}, {"at": "2028-01-01T00:00:30"}, ["Is too late", "1 January 2028, 00:00:30"]),
    "too late, and another address": (
        {"end_date": THEN, "expiration_url": AFTER}, {"at": "2028-01-01T00:00"}, ["Redirects to the expiration URL", AFTER]),
    "a password": ({"password_hash": "x"}, {}, ["Is asked for the password", NOTHING_SHOWS, "No longer asked"]),
    "past both gates": (
        {"password_hash": "x", "sensitive_content": True}, {"unlocked": ["password", "warning"]},
        ["Redirects to the address below", "The password was given", "The warning was read"]),
    "a warning": ({"sensitive_content": True}, {}, ["Sees the warning page first"]),
    "a frame": ({"cloaking_is_enabled": True}, {}, ["Sees the address below in a frame"]),
    "a bot at a limited link": (
        {"clicks_limit": 5}, {"user_agent": BOT}, ["Gets a preview", "Bot: googlebot", "Counts as no click"]),
    "a tap": (LIMITED, {}, ["Is asked for a tap first", "A tap is asked for", "Counts as no click"]),
    "a tap was given": (
        LIMITED, {"unlocked": ["confirmation"]}, ["Redirects to the address below", "The button was tapped", "Counts as a click"]),
    "a tap after a warning": (
        {**LIMITED, "sensitive_content": True}, {"unlocked": ["warning"]},
        ["Redirects to the address below", "The form before it was the tap"]),
    "an app": (
        {"app_linking_is_enabled": True, "location_url": "https://www.youtube.com/watch?v=dQw4w9WgXcQ"},
        {"device_type": "mobile", "os_name": "Android"}, ["The app opens", "Phone, Android"]),
    "a query with its question mark": (
        {"forward_query_parameters_is_enabled": True}, {"query": "?a=b c"},
        [f"{THERE}?a=b%20c", f"From {THERE} to {THERE}?a=b%20c"]),
    "a language": ({}, {"accept_language": "de-AT,en;q=0.5"}, ["German (Austria), English"]),
    "a language by its name": ({}, {"accept_language": "Deutsch"}, ["German"]),
}  # fmt: skip


@pytest.fixture
def alice(alice: User, session: scoped_session[Session]) -> User:
    alice.timezone = "Europe/Berlin"
    session.commit()
    return alice


def words(page: str) -> str:
    """The text of a page, with single spaces."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)))


@pytest.mark.parametrize(("columns", "asked", "told"), ROWS.values(), ids=ROWS)
def test_what_somebody_gets(
    desk: Desk,
    alice: User,
    make_link: Callable[..., Link],
    columns: dict[str, Any],
    asked: dict[str, Any],
    told: list[str],
) -> None:
    path = f"/links/{make_link(alice, **{'location_url': THERE, **columns}).id}/try"
    page = desk.get(path, query_string=asked)
    part = desk.get(path, query_string=asked, headers=HTMX)
    assert (page.status_code, part.status_code) == (200, 200)
    assert "<!doctype html>" in page.text
    assert "<!doctype html>" not in part.text
    for text in told:
        assert text in words(page.text)
        assert text in words(part.text)


@pytest.mark.parametrize("gate", ["password_hash", "sensitive_content"])
def test_nothing_is_told_that_the_visitor_does_not_reach(
    desk: Desk, alice: User, make_link: Callable[..., Link], gate: str
) -> None:
    link = make_link(alice, location_url=THERE, **{gate: "x" if gate == "password_hash" else True})
    assert THERE not in desk.get(f"/links/{link.id}/try").text


def test_everything_wrong_is_told_at_once_and_beside_its_control(
    desk: Desk, alice: User, make_link: Callable[..., Link]
) -> None:
    asked = {"ip": "x", "accept_language": ";", "query": "a#b"}
    answer = desk.get(f"/links/{make_link(alice).id}/try", query_string=asked)
    assert answer.status_code == 422
    assert answer.text.count('aria-invalid="true"') == len(asked)
    assert "There is no such visitor." in answer.text
    assert desk.get(f"/links/{make_link(alice).id}/try", query_string=asked, headers=HTMX).status_code == 422


def test_what_was_chosen_stays_chosen(desk: Desk, alice: User, make_link: Callable[..., Link]) -> None:
    link = make_link(alice, password_hash="x")
    asked = {
        "country_code": "DE",
        "city_name": '"Köln"',
        "device_type": "tablet",
        "at": "2027-03-28T03:00",
        "unlocked": "password",
    }
    page = desk.get(f"/links/{link.id}/try", query_string=asked).text
    for text in (
        'value="DE" selected>',
        'value="&#34;Köln&#34;"',
        'value="tablet" selected>',
        'value="2027-03-28T03:00"',
        'value="password" checked',
    ):
        assert text in page


def test_the_address_keeps_only_what_is_supposed(
    desk: Desk, alice: User, make_link: Callable[..., Link]
) -> None:
    link = make_link(alice)
    asked = {"country_code": "DE", "city_name": "", "at": "", "user_agent": "", "unlocked": "", "x": "y"}
    answer = desk.get(f"/links/{link.id}/try", query_string=asked, headers=HTMX)
    assert answer.headers["HX-Push-Url"] == f"/dashboard/links/{link.id}/try?country_code=DE"


def test_a_usual_visitor_keeps_whatever_else_was_supposed(
    desk: Desk, alice: User, make_link: Callable[..., Link]
) -> None:
    asked = {"country_code": "DE", "device_type": "desktop", "user_agent": "x"}
    page = desk.get(f"/links/{make_link(alice).id}/try", query_string=asked).text
    found = re.search(r'href="([^"]*)"[^>]*><span>iPhone<', page)
    assert found
    query = html.unescape(found[1]).partition("?")[2]
    assert query == "country_code=DE&device_type=mobile&os_name=iOS&browser_name=Safari"


def test_trying_counts_nothing(app: Flask, desk: Desk, alice: User, make_link: Callable[..., Link]) -> None:
    link = make_link(alice, clicks_limit=1)
    for _ in range(2):
        assert "0 of 1 clicks are used" in desk.get(f"/links/{link.id}/try").text
    journal = app.config["WAYPOST"].data_dir / "journal"
    assert not journal.exists() or not list(journal.iterdir())


def test_an_address_has_its_place_and_its_source_is_named(
    app: Flask, desk: Desk, alice: User, make_link: Callable[..., Link]
) -> None:
    write_geo_file(app.config["WAYPOST"].data_dir / "geo.mmdb")
    page = words(desk.get(f"/links/{make_link(alice).id}/try", query_string={"ip": ADDRESS}).text)
    assert "London, United Kingdom" in page
    assert "GeoLite Data created by MaxMind" in page


def test_without_places_the_page_says_so(desk: Desk, alice: User, make_link: Callable[..., Link]) -> None:
    assert "no geolocation database" in desk.get(f"/links/{make_link(alice).id}/try").text


def test_another_owners_link_is_not_there(desk: Desk, bob: User, make_link: Callable[..., Link]) -> None:
    assert desk.get(f"/links/{make_link(bob).id}/try").status_code == 404


def test_each_link_in_the_list_can_be_tried(desk: Desk, alice: User, make_link: Callable[..., Link]) -> None:
    link = make_link(alice)
    assert f'href="/dashboard/links/{link.id}/try"' in desk.get(f"/links/{link.id}/more").text


def test_every_step_and_every_outcome_has_its_words() -> None:
    assert list(QUESTIONS) == ["link", *(name for name, _ in STEPS)]
    outcomes = "redirect cloak app pixels consent preview password warning not_found not_yet expired limit"
    assert set(VERDICTS) == {*outcomes.split(), "confirmation", "unavailable"}


@pytest.mark.parametrize(
    ("tag", "word"),
    [("de", "German"), ("de-CH", "German (Switzerland)"), ("pt-BR", "Portuguese (Brazil)"), ("rm", "rm")],
)
def test_a_language_has_a_word(tag: str, word: str) -> None:
    assert describe_language(tag) == word


@pytest.mark.parametrize(
    ("columns", "offered"),
    [(LIMITED, True), ({**LIMITED, "password_hash": "x"}, False), ({"clicks_limit": 5}, False)],
)
def test_a_tap_can_be_supposed_where_one_is_asked_for(
    desk: Desk, alice: User, make_link: Callable[..., Link], columns: dict[str, Any], offered: bool
) -> None:
    page = desk.get(f"/links/{make_link(alice, **columns).id}/try").text
    assert ('name="unlocked" value="confirmation"' in page) == offered
