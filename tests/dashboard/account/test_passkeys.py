"""Passkeys in the dashboard: pages, sign-in, proofs and limits, with a simulated authenticator."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any

import pytest
import time_machine
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session
from werkzeug.test import TestResponse

from app.accounts import second_factor
from app.accounts.models import Passkey, User
from app.audit.models import AuditEntry
from app.core.clock import now
from app.dashboard.auth import reauthentication
from app.dashboard.auth.rate_limits import BY_ADDRESS
from app.dashboard.auth.reauthentication import RECENT
from app.notifications.models import SystemEmail
from tests.accounts.authenticator import PRESENT, Authenticator
from tests.accounts.test_sign_in import is_signed_in, sign_in, token_on
from tests.dashboard.account.test_two_factor import codes_on
from tests.dashboard.conftest import HTMX, Desk
from tests.factories import PASSWORD

WITH_MAIL = pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:2525")
LATER = RECENT + dt.timedelta(seconds=1)


def begin(desk: Desk) -> TestResponse:
    return desk.post("/account/passkeys/start", {"current_password": PASSWORD})


def send_new(desk: Desk, device: Authenticator, name: str = "Phone") -> TestResponse:
    options = desk.get("/account/passkeys/options").get_json()["create"]
    return desk.post("/account/passkeys/new", {"passkey": device.create(options), "name": name})


def add(desk: Desk, device: Authenticator, name: str = "Phone") -> list[str]:
    """Adds a passkey; returns the recovery codes that came with it."""
    assert begin(desk).status_code == 303
    answer = send_new(desk, device, name)
    assert answer.status_code in {200, 303}, answer.text
    return codes_on(answer.text)


def answer_alone(client: FlaskClient, device: Authenticator) -> str:
    return device.get(client.get("/login/passkey/options").get_json()["get"])


def sign_in_alone(client: FlaskClient, text: str, **sent: str) -> TestResponse:
    data = {"csrf_token": token_on(client.get("/login")), "passkey": text, **sent}
    return client.post("/login/passkey", data=data)


def sign_in_second(client: FlaskClient, device: Authenticator) -> TestResponse:
    text = device.get(client.get("/login/code/passkey/options").get_json()["get"])
    token = token_on(client.get("/login/code"))
    return client.post("/login/code/passkey", data={"csrf_token": token, "passkey": text})


def proof(desk: Desk, device: Authenticator) -> str:
    return device.get(desk.get("/account/passkeys/proof").get_json()["get"])


def titles(session: scoped_session[Session]) -> list[str]:
    session.rollback()
    rows = session.scalars(select(SystemEmail).order_by(SystemEmail.id))
    return [row.content["title"] for row in rows if row.content]


def last(session: scoped_session[Session], action: str) -> AuditEntry:
    session.rollback()
    newest = select(AuditEntry).where(AuditEntry.action == action).order_by(AuditEntry.id.desc()).limit(1)
    return session.scalars(newest).one()


@pytest.fixture
def device(desk: Desk) -> Authenticator:
    """An authenticator with a passkey of alice's."""
    device = Authenticator()
    assert len(add(desk, device)) == 10
    return device


@WITH_MAIL
def test_adding_one(desk: Desk, alice: User, session: scoped_session[Session]) -> None:
    wrong = desk.post("/account/passkeys/start", {"current_password": "not this one"})
    assert (wrong.status_code, "not your current password" in wrong.text) == (422, True)
    assert desk.get("/account/passkeys/options").status_code == 404
    early = desk.post("/account/passkeys/new", {"passkey": "{}"})
    assert early.location == "/dashboard/account/passkeys/new"
    assert "longer than 10 minutes" in desk.get("/account/passkeys/new").text
    begin(desk)
    assert "Create the passkey" in desk.get("/account/passkeys/new").text
    options = desk.get("/account/passkeys/options").get_json()["create"]
    assert options["rp"] == {"id": "localhost", "name": "Waypost"}
    assert options["user"]["name"] == alice.email
    codes = codes_on(send_new(desk, Authenticator()).text)
    assert len(set(codes)) == 10
    assert titles(session) == ["A passkey was added"]
    assert second_factor.is_on(alice)
    page = desk.get("/account/").text
    assert "Not used yet" in page
    assert "asks for a passkey, too" in page
    # the password is typed for each
    assert "Create the passkey" not in desk.get("/account/passkeys/new").text


def test_a_permit_to_add_is_soon_over(desk: Desk) -> None:
    begin(desk)
    options = desk.get("/account/passkeys/options").get_json()["create"]
    with time_machine.travel(now() + dt.timedelta(minutes=11)):
        late = desk.post("/account/passkeys/new", {"passkey": Authenticator().create(options)})
        assert late.status_code == 303
        assert "Create the passkey" not in desk.get("/account/passkeys/new").text


def test_signing_in_alone(
    desk: Desk, device: Authenticator, client: FlaskClient, app: Flask, session: scoped_session[Session]
) -> None:
    stranger = app.test_client()
    page = stranger.get("/login?next=/dashboard/keys/").text
    assert "Sign in with a passkey" in page
    assert 'autocomplete="username webauthn"' in page
    text = answer_alone(stranger, device)
    answer = sign_in_alone(stranger, text, next="/dashboard/keys/", remember="1")
    assert (answer.status_code, answer.location) == (303, "/dashboard/keys/")
    assert "Expires" in str(answer.headers)
    assert is_signed_in(stranger)
    assert last(session, "sign_in").changes == {"method": "passkey"}
    # the same answer once more, in the same browser
    again = sign_in_alone(app.test_client(), text)
    assert (again.status_code, "did not work here" in again.text) == (403, True)
    # it counts as the password typed
    assert stranger.get("/dashboard/links/export.csv").status_code == 200


def test_who_has_no_such_passkey_is_told_the_same(
    device: Authenticator, app: Flask, session: scoped_session[Session]
) -> None:
    client, unknown = app.test_client(), Authenticator(user_handle=device.user_handle)
    device.flags = PRESENT
    pages = []
    for one in (device, unknown):
        answer = sign_in_alone(client, answer_alone(client, one))
        assert answer.status_code == 403
        pages.append(re.sub(r'value="[^"]*"', "", answer.text))
    assert pages[0] == pages[1]
    entry = last(session, "sign_in.failed")
    assert (entry.changes, entry.account_id) == ({"reason": "unknown_passkey"}, None)


def test_tries_are_counted_by_address_and_lock_no_password_out(
    device: Authenticator, app: Flask, session: scoped_session[Session]
) -> None:
    client = app.test_client()
    found = [sign_in_alone(client, "{}").status_code for _ in range(BY_ADDRESS.amount)]
    assert found == [403] * (BY_ADDRESS.amount - 1) + [429]  # alice's own sign-in was one
    assert last(session, "sign_in.failed").changes == {"reason": "too_many_tries"}
    elsewhere = {"REMOTE_ADDR": "198.51.100.7"}
    assert sign_in(app.test_client(), environ=elsewhere).location == "/login/code"


def test_the_second_step(desk: Desk, device: Authenticator, app: Flask, session: Any) -> None:
    client = app.test_client()
    assert client.get("/login/code/passkey/options").status_code == 401
    answer = sign_in(client, next="/dashboard/keys/")
    assert answer.location == "/login/code"
    page = client.get("/login/code").text
    assert "Your passkey" in page
    assert "authenticator app" not in page
    assert not is_signed_in(client)
    device.flags = PRESENT  # the password knew the user
    answer = sign_in_second(client, device)
    assert (answer.status_code, answer.location) == (303, "/dashboard/keys/")
    assert is_signed_in(client)
    assert last(session, "sign_in").changes == {"method": "password_and_passkey"}


def test_renaming(desk: Desk, device: Authenticator, session: scoped_session[Session]) -> None:
    row = session.scalars(select(Passkey)).one()
    path = f"/account/passkeys/{row.id}/rename"
    assert 'value="Phone"' in desk.get(path, headers=HTMX).text
    for bad in ("", "x" * 65):
        assert desk.post(path, {"passkey_name": bad}).status_code == 422
    assert desk.post(path, {"passkey_name": "<b>Old phone</b>"}).status_code == 303
    assert "&lt;b&gt;Old phone&lt;/b&gt;" in desk.get("/account/").text
    entry = last(session, "passkey.renamed")
    assert entry.changes == {"name": ["Phone", "<b>Old phone</b>"]}
    assert "Passkey renamed" in desk.get("/account/audit-log").text


@WITH_MAIL
def test_removing_one_of_two_and_the_last(desk: Desk, alice: User, session: scoped_session[Session]) -> None:
    codes = add(desk, Authenticator(), "One")
    add(desk, Authenticator(), "Two")
    one, two = session.scalars(select(Passkey.id).order_by(Passkey.id)).all()
    path = "/account/passkeys/{}/remove"
    assert 'name="code"' not in desk.get(path.format(one)).text
    for wrong in ({}, {"removal_password": ""}, {"removal_password": "not this one"}):
        assert desk.post(path.format(one), wrong).status_code == 422
    assert desk.post(path.format(one), {"removal_password": PASSWORD}).status_code == 303
    assert desk.get(path.format(one)).status_code == 404
    assert 'name="code"' in desk.get(path.format(two)).text
    for code in ("", "123456", "aaaaa-aaaaa"):
        sent = {"removal_password": PASSWORD, "code": code}
        assert desk.post(path.format(two), sent).status_code == 422
    assert second_factor.is_on(alice)
    sent = {"removal_password": PASSWORD, "code": codes[0]}
    assert desk.post(path.format(two), sent).status_code == 303
    session.rollback()
    assert not second_factor.is_on(alice)
    assert second_factor.codes_left(alice) == 0
    assert titles(session)[-2:] == ["A passkey was removed"] * 2
    assert last(session, "two_factor.disabled").account_id == alice.id


def test_in_place_of_the_password(
    desk: Desk, device: Authenticator, session: scoped_session[Session]
) -> None:
    before = desk.client.get_cookie("waypost").value
    sent = {"name": "CI", "scope": "read", "own_password": ""}
    with time_machine.travel(now() + LATER):
        assert "Use a passkey instead" in desk.get("/keys/new").text
        assert desk.post("/keys/new", sent).status_code == 422
        assert desk.post("/keys/new", {**sent, "passkey": "{}"}).status_code == 422
        assert last(session, "proof.failed").changes == {"reason": "wrong_passkey"}
        assert desk.post("/keys/new", {**sent, "passkey": proof(desk, device)}).status_code == 200
        assert desk.get("/links/export.csv").status_code == 200
        # a copy of the cookie from before gains nothing
        desk.client.set_cookie("waypost", before)
        assert not is_signed_in(desk.client)


# each: the page, its password's field, and the other fields
PROVEN: dict[str, tuple[str, dict[str, str]]] = {
    "another address": ("/account/email", {"new_email": "a@new.example", "own_password": ""}),
    "another password": (
        "/account/password",
        {"current_password": "", "password": "four quite new words"},
    ),
    "an authenticator app": ("/account/two-factor/start", {"current_password": ""}),
    "another passkey": ("/account/passkeys/start", {"current_password": ""}),
    "the account": ("/account/delete", {"own_email": "alice@example.com", "own_password": ""}),
}


@pytest.mark.parametrize("name", PROVEN)
def test_where_the_password_is_always_asked_for(
    desk: Desk, device: Authenticator, bob: User, session: scoped_session[Session], name: str
) -> None:
    bob.is_admin = True  # an instance keeps an admin
    session.commit()
    path, sent = PROVEN[name]
    assert desk.post(path, sent).status_code == 422
    text = proof(desk, device)
    assert desk.post(path, {**sent, "passkey": text}).status_code == 303
    if name != "the account":
        assert desk.post(path, {**sent, "passkey": text}).status_code == 422, "once"


def test_at_most_twenty(desk: Desk, alice: User, session: scoped_session[Session]) -> None:
    common = {"user_id": alice.id, "public_key": "", "user_handle": "AAAA", "rp_id": "localhost"}
    session.add_all(Passkey(name="x", credential_id=f"c{n}", **common) for n in range(20))
    session.commit()
    page = desk.get("/account/").text
    assert "Add a passkey" not in page
    assert "You have 20 passkeys" in page
    begin(desk)
    answer = send_new(desk, Authenticator())
    assert (answer.status_code, "You have 20 passkeys" in answer.text) == (422, True)


GO = pytest.mark.settings(BASE_URL="https://go.example")
ADDRESSES = [
    pytest.param("http://localhost", "localhost", "", id="localhost"),
    pytest.param("http://localhost:8000", "localhost", "", id="localhost with a port"),
    pytest.param("http://links.localhost", "links.localhost", "", id="a name below localhost"),
    pytest.param("https://links.example", "links.example", "", id="https"),
    pytest.param("http://links.example", "links.example", "Passkeys need HTTPS", id="plain http"),
    pytest.param("http://127.0.0.1:8000", "127.0.0.1", "IP address", id="an IPv4 address"),
    pytest.param("http://[::1]:8000", "::1", "IP address", id="an IPv6 address"),
    pytest.param("https://go.example", "go.example", "", id="the address of the settings", marks=GO),
    pytest.param(
        "https://go.example",
        "go.example",
        "",
        id="its port written out",
        marks=pytest.mark.settings(BASE_URL="https://go.example:443"),
    ),
    pytest.param(
        "http://localhost",
        "go.example",
        "Passkeys work at https://go.example only",
        id="another than that of the settings",
        marks=GO,
    ),
    pytest.param(
        "https://owners.example",
        "owners.example",
        "",
        id="an address of the dashboard alone",
        marks=pytest.mark.settings(BASE_URL="https://go.example", DASHBOARD_URL="https://owners.example"),
    ),
]


@pytest.mark.parametrize(("base", "host", "problem"), ADDRESSES)
def test_where_passkeys_work(app: Flask, alice: User, base: str, host: str, problem: str) -> None:
    client = app.test_client()
    page = client.get("/login", base_url=base)
    assert page.status_code == 200
    assert ("Sign in with a passkey" in page.text) == (not problem)
    options = client.get("/login/passkey/options", base_url=base).get_json()["get"]
    assert options["rpId"] == host
    with app.test_request_context(base_url=base):
        assert problem in reauthentication.problem_here()
        assert reauthentication.dashboard_origin() == (
            base if "work at" not in problem else "https://go.example"
        )
