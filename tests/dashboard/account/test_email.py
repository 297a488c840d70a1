"""Changing the sign-in e-mail address: it needs the password, and tells the old address."""

from __future__ import annotations

import pytest
from flask import Flask
from sqlalchemy import select

from app.accounts import one_time_addresses
from app.accounts.models import PasswordReset, User
from app.notifications import system_email
from app.notifications.models import SystemEmail
from tests.accounts.test_sign_in import sign_in
from tests.dashboard.conftest import HTMX, Desk
from tests.factories import PASSWORD

PATH = "/account/email"
NEW = {"new_email": " Alice@New.example", "own_password": PASSWORD}
pytestmark = pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:2525", BASE_URL="http://localhost")


def test_the_profile_alone_changes_no_address(desk: Desk, alice: User, session) -> None:
    assert desk.post("/account/", {"email": "thief@example.com", "name": "Alice"}).status_code == 303
    session.refresh(alice)
    assert (alice.name, alice.email) == ("Alice", "alice@example.com")


@pytest.mark.parametrize(
    ("sent", "said"),
    [
        ({"own_password": "not this one"}, "not your current password"),
        ({"own_password": ""}, "can&#39;t be empty"),
        ({"new_email": "nonsense"}, "@-sign"),
        ({"new_email": "bob@example.com"}, "There is an account with this e-mail address already."),
    ],
)
def test_what_is_wrong_is_said_and_changes_nothing(
    desk: Desk, alice: User, bob: User, session, sent: dict[str, str], said: str
) -> None:
    for headers in ({}, HTMX):
        answer = desk.post(PATH, NEW | sent, headers=headers)
        assert (answer.status_code, said in answer.text) == (422, True)
    session.refresh(alice)
    assert alice.email == "alice@example.com"
    assert session.scalars(select(SystemEmail)).all() == []


def test_it_is_changed_and_the_old_address_told(app: Flask, desk: Desk, alice: User, session) -> None:
    one_time_addresses.make_reset(session, alice)
    session.commit()
    assert desk.get(PATH).status_code == desk.get(PATH, headers=HTMX).status_code == 200
    assert desk.post(PATH, NEW).location == "/dashboard/account/#email"
    assert "You sign in with alice@new.example from now on." in desk.get("/account/").text
    assert session.scalars(select(PasswordReset)).all() == []  # a reset mailed to the old address is void
    letter = session.scalars(select(SystemEmail)).one()
    assert letter.email == "alice@example.com"
    assert "alice@new.example" in letter.content["text"]
    client = app.test_client()
    assert sign_in(client).status_code == 403
    assert sign_in(client, "alice@new.example").location == "/dashboard/"
    # the same address again: no mail
    assert desk.post(PATH, NEW, headers=HTMX).headers["HX-Redirect"] == "/dashboard/account/"
    assert len(session.scalars(select(SystemEmail)).all()) == 1


def test_an_address_that_nobody_has_verified_gets_few_mails(desk: Desk, alice: User, session) -> None:
    """Each change mails the previous address. Changing to and fro once mailed a stranger each time."""
    for _ in range(8):
        for email in ("stranger@elsewhere.example", "alice@example.com"):
            assert desk.post(PATH, NEW | {"new_email": email}).status_code == 303
    to = [letter.email for letter in session.scalars(select(SystemEmail))]
    assert to.count("stranger@elsewhere.example") == system_email.MAX_A_DAY
    assert to.count("alice@example.com") == 8  # verified: mailed each time
