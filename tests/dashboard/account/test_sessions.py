"""Sessions of an account: the list of them, ending them, and signing out."""

from __future__ import annotations

import re

from flask import Flask
from sqlalchemy import select

from app.accounts.models import User, UserSession
from tests.accounts.test_sign_in import is_signed_in, sign_in, token_on
from tests.dashboard.conftest import Desk
from tests.server import BROWSER


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
