"""Two-factor authentication: enabling and disabling it, and the code at sign-in."""

from __future__ import annotations

import datetime as dt
import html
import re

import pytest
import time_machine
from sqlalchemy import select

from app.accounts import second_factor
from app.accounts.models import User
from app.core.clock import now
from app.notifications.models import SystemEmail
from tests.accounts.codes import code_of, shown, switch_on
from tests.accounts.test_sign_in import is_signed_in, sign_in, token_on
from tests.dashboard.conftest import Desk
from tests.factories import PASSWORD

WITH_MAIL = pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:2525")


def codes_on(page: str) -> list[str]:
    shown_there = re.search(r'<pre class="codes"[^>]*>([^<]*)<', page)
    return shown_there[1].split() if shown_there else []


def send_code(client, code: str):
    token = token_on(client.get("/login/code"))
    return client.post("/login/code", data={"csrf_token": token, "code": code})


@WITH_MAIL
def test_it_is_switched_on_with_password_and_code(desk: Desk, alice: User, session) -> None:
    assert "Turn two-factor on" in desk.get("/account/").text
    wrong = desk.post("/account/two-factor/start", {"current_password": "not this one"})
    assert (wrong.status_code, "not your current password" in wrong.text) == (422, True)
    assert desk.post("/account/two-factor/start", {"current_password": PASSWORD}).status_code == 303
    page = desk.get("/account/two-factor").text
    secret = html.unescape(re.search(r'<pre id="totp-key"[^>]*>([^<]+)<', page)[1])
    assert "<svg" in page
    for bad in ("", "12345", "000000", "١٢٣٤٥٦"):
        assert desk.post("/account/two-factor/confirm", {"code": bad}).status_code == 422
    assert not second_factor.is_on(alice)
    done = desk.post("/account/two-factor/confirm", {"code": shown(secret)})
    assert len(set(codes_on(done.text))) == 10
    assert not codes_on(desk.get("/account/two-factor").text)
    assert session.scalars(select(SystemEmail)).one().content["title"] == "Two-factor authentication is on"
    # the form is sent again after the Back button: nothing changes
    assert desk.post("/account/two-factor/start", {"current_password": PASSWORD}).status_code == 303
    assert second_factor.is_on(alice)


def test_the_password_alone_opens_nothing(client, alice: User) -> None:
    with time_machine.travel(now() - dt.timedelta(minutes=5)):
        switch_on(alice)
    answer = sign_in(client, remember="1", next="/dashboard/keys/")
    assert (answer.status_code, answer.location) == (303, "/login/code")
    assert not is_signed_in(client)
    assert send_code(client, "000000").status_code == 403
    assert send_code(client, "").status_code == 422
    code = code_of(alice)
    copy = client.get_cookie("waypost").value
    answer = send_code(client, code)
    assert (answer.status_code, answer.location) == (303, "/dashboard/keys/")
    assert is_signed_in(client)
    assert "Expires" in str(answer.headers)
    # the earlier half session, and the same code again
    client.set_cookie("waypost", copy)
    assert not is_signed_in(client)
    assert send_code(client, code).status_code == 403


@WITH_MAIL
def test_a_recovery_code_opens_and_its_owner_is_told(client, alice: User, session) -> None:
    recovery = switch_on(alice)[0]
    sign_in(client)
    assert send_code(client, recovery).status_code == 303
    assert is_signed_in(client)
    assert "9 codes are left." in session.scalars(select(SystemEmail)).one().content["text"]


def test_half_a_session_is_soon_over(client, alice: User, session) -> None:
    switch_on(alice)
    assert client.get("/login/code").location == "/login"
    assert "once more" not in client.get("/login").text
    for send in (False, True):
        sign_in(client, next="/dashboard/keys/")
        token = token_on(client.get("/login/code"))
        with time_machine.travel(now() + dt.timedelta(minutes=11)):
            sent = {"csrf_token": token, "code": code_of(alice)}
            answer = client.post("/login/code", data=sent) if send else client.get("/login/code")
            assert answer.location == "/login?next=/dashboard/keys/"
            page = client.get(answer.location).text
            assert "The code did not come within 10 minutes." in page
            assert 'value="/dashboard/keys/"' in page
            assert "10 minutes" not in client.get("/login").text
    sign_in(client)
    alice.session_version += 1  # another password was set meanwhile
    session.commit()
    assert client.get("/login/code").location == "/login"
    assert "has changed meanwhile" in client.get("/login").text


def test_codes_can_not_be_guessed(client, alice: User) -> None:
    switch_on(alice)
    sign_in(client)
    tried = [send_code(client, f"{number:06}").status_code for number in range(11)]
    assert tried == [403] * 10 + [429]
    answer = send_code(client, code_of(alice, 1))
    assert (answer.status_code, "Too many attempts" in answer.text) == (429, True)
    assert int(answer.headers["Retry-After"]) > 0


def test_new_codes_and_switching_off_ask_for_a_code(desk: Desk, alice: User) -> None:
    assert desk.get("/account/two-factor/off").status_code == 303
    with time_machine.travel(now() - dt.timedelta(minutes=5)):
        old = switch_on(alice)
    assert desk.post("/account/two-factor/codes", {"code": "000000"}).status_code == 422
    assert desk.post("/account/two-factor/codes", {"code": old[0]}).status_code == 422
    page = desk.post("/account/two-factor/codes", {"code": code_of(alice)}).text
    new = codes_on(page)
    assert "From now on" not in page
    assert len(set(new) - set(old)) == 10
    assert desk.get("/account/two-factor/off").status_code == 200
    sent = {"current_password": PASSWORD, "code": new[0]}
    for bad in ({"code": old[1]}, {"code": ""}, {"current_password": "not this one"}):
        assert desk.post("/account/two-factor/off", {**sent, **bad}).status_code == 422
    assert second_factor.is_on(alice)
    assert desk.post("/account/two-factor/off", sent).status_code == 303
    assert not second_factor.is_on(alice)


@pytest.mark.parametrize("path", ["confirm", "codes", "off", "start"])
def test_too_many_tries_are_told_where_one_typed(desk: Desk, alice: User, path: str) -> None:
    if path in ("codes", "off"):
        switch_on(alice)
    if path == "confirm":
        desk.post("/account/two-factor/start", {"current_password": PASSWORD})
    wrong = "not this one" if path == "start" else PASSWORD
    fields = {"code": "000000", "current_password": wrong}
    tried = [desk.post(f"/account/two-factor/{path}", fields).status_code for _ in range(16)]
    assert (set(tried), tried[-1]) == ({422, 429}, 429)
    answer = desk.post(f"/account/two-factor/{path}", fields)
    assert re.search(r'id="[a-z_]*-error">\s*<p class="error">.*Too many attempts', answer.text)
    assert int(answer.headers["Retry-After"]) > 0
