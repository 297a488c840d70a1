"""“Try as visitor”: it says in words what the simulated visitor gets and why, with and without htmx."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.links.models import Link
from tests.dashboard.conftest import HTMX, Desk
from tests.geo.geo_files import ADDRESS, write_geo_file

THERE = "https://example.com/there"
LIMITED = {"clicks_limit": 5, "clicks_limit_confirmation_is_enabled": True}


@pytest.fixture
def alice(alice: User, session: scoped_session[Session]) -> User:
    alice.timezone = "Europe/Berlin"
    session.commit()
    return alice


def words(page: str) -> str:
    """The text of a page, with single spaces."""
    return html.unescape(re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page)))


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


def test_an_address_has_its_place_and_its_source_is_named(
    app: Flask, desk: Desk, alice: User, make_link: Callable[..., Link]
) -> None:
    write_geo_file(app.config["WAYPOST"].data_dir / "geo.mmdb")
    page = words(desk.get(f"/links/{make_link(alice).id}/try", query_string={"ip": ADDRESS}).text)
    assert "London, United Kingdom" in page
    assert "GeoLite Data created by MaxMind" in page


@pytest.mark.parametrize(
    ("columns", "offered"),
    [(LIMITED, True), ({**LIMITED, "password_hash": "x"}, False), ({"clicks_limit": 5}, False)],
)
def test_a_tap_can_be_supposed_where_one_is_asked_for(
    desk: Desk, alice: User, make_link: Callable[..., Link], columns: dict[str, Any], offered: bool
) -> None:
    page = desk.get(f"/links/{make_link(alice, **columns).id}/try").text
    assert ('name="unlocked" value="confirmation"' in page) == offered
