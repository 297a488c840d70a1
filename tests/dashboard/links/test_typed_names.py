"""What owners type instead of codes and whole addresses, and that the API keeps to the letter."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.links.models import Link
from tests.clients import Api
from tests.dashboard.conftest import Desk
from tests.factories import Factory

TO = {"location_url": "https://example.com/"}


def targeted(type_: str, key: str, value: str = "https://example.com/there") -> dict[str, Any]:
    return {
        **TO,
        "targeting_type": type_,
        f"targeting_{type_}_key[]": key,
        f"targeting_{type_}_value[]": value,
    }


BARE = {
    "destination": {"location_url": "example.com/a"},
    "expiration URL": {**TO, "expiration_url": "example.com/a"},
    "by country": targeted("country_code", "DE", "example.com/a"),
    "by share": targeted("rotation", "50", "example.com/a"),
    "by device": targeted("device_type", "mobile", "example.com/a"),
}


@pytest.mark.parametrize("name", BARE)
def test_a_destination_may_lack_its_scheme_in_the_dashboard_alone(
    name: str, desk: Desk, alice: User, factory: Factory, session: scoped_session[Session]
) -> None:
    api = Api(desk.client.application.test_client(), factory.key(alice)[1])
    assert api.post("/links", data=BARE[name]).status_code == 422
    assert desk.post("/links/new", BARE[name]).status_code == 303
    link = session.scalars(select(Link)).one()
    found = [link.location_url, link.expiration_url, *(to for _, to in link.targeting or ())]
    assert "https://example.com/a" in found


NAMES = {
    "country": ("country_code", "Holland", "NL"),
    "country in another language": ("country_code", "deutschland", "DE"),
    "continent": ("continent_code", "Europe", "EU"),
    "language": ("browser_language", "Deutsch (Österreich)", "de-AT"),
}


@pytest.mark.parametrize("name", NAMES)
def test_a_name_stands_for_a_code_in_the_dashboard_alone(
    name: str, desk: Desk, alice: User, factory: Factory, session: scoped_session[Session]
) -> None:
    type_, typed, code = NAMES[name]
    api = Api(desk.client.application.test_client(), factory.key(alice)[1])
    assert api.post("/links", data=targeted(type_, typed)).status_code == 422
    assert desk.post("/links/new", targeted(type_, typed)).status_code == 303
    assert session.scalars(select(Link)).one().targeting == [[code, "https://example.com/there"]]


def test_a_citys_country_may_be_named(desk: Desk, session: scoped_session[Session]) -> None:
    assert desk.post("/links/new", targeted("city_name", "Portland, USA")).status_code == 303
    assert session.scalars(select(Link)).one().targeting == [["Portland, US", "https://example.com/there"]]


def test_a_name_that_is_none_is_refused_and_shown_as_typed(desk: Desk) -> None:
    answer = desk.post("/links/new", targeted("country_code", "Atlantis"))
    assert answer.status_code == 422
    assert "There is no such country." in answer.text
    assert 'value="Atlantis"' in answer.text
