"""The account: another e-mail address, the list of sessions and ending them."""

from __future__ import annotations

import re

import pytest
from flask import Flask
from sqlalchemy import select

from app.accounts import one_time_addresses
from app.accounts.models import PasswordReset, User, UserSession
from app.notifications import system_email
from app.notifications.models import SystemEmail
from tests.accounts.test_sign_in import is_signed_in, sign_in, token_on
from tests.dashboard.conftest import HTMX, Desk
from tests.factories import PASSWORD
from tests.server import BROWSER

pytestmark = pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:2525", BASE_URL="http://localhost")

PATH = "/account/email"
NEW = {"new_email": " Alice@New.example", "own_password": PASSWORD}


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


def test_they_are_listed_and_end(app: Flask, desk: Desk, alice: User, bob: User, session) -> None:
    phone, library, bobs = app.test_client(), app.test_client(), app.test_client()
    phone.get("/login")
    sign_in(phone, environ={"HTTP_USER_AGENT": BROWSER})
    sign_in(library)
    sign_in(bobs, bob.email)
    page = desk.get("/account/").text
    assert (page.count("This browser"), page.count("Signed in ")) == (1, 3)
    assert page.index("This browser") < page.index("Signed in ")
    assert "Chrome, Linux" in page
    ends = re.findall(r"/dashboard/account/sessions/(\d+)/end", page)
    assert len(ends) == 2
    assert desk.post(f"/account/sessions/{max(ends, key=int)}/end", {}).status_code == 303
    assert [is_signed_in(client) for client in (phone, library, bobs)] == [True, False, True]
    bobs_row = session.scalar(select(UserSession.id).where(UserSession.user_id == bob.id))
    for id_ in (bobs_row, 999, 2**63, 0):
        assert desk.post(f"/account/sessions/{id_}/end", {}).status_code == 404
    assert desk.post("/account/sessions/end", {}).status_code == 303
    assert [is_signed_in(client) for client in (phone, bobs, desk.client)] == [False, True, True]
    assert "Sign out everywhere else" not in desk.get("/account/").text


def test_who_signs_out_leaves_no_cookie_that_opens_anything(client, alice: User) -> None:
    sign_in(client)
    copy = client.get_cookie("waypost").value
    client.post("/logout", data={"csrf_token": token_on(client.get("/logout"))})
    client.set_cookie("waypost", copy)
    assert not is_signed_in(client)
