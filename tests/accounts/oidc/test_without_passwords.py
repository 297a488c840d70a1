"""Accounts without a password, and instances where passwords are off."""

from __future__ import annotations

import datetime as dt
import html
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
import time_machine
from flask import Flask
from sqlalchemy import select

from app.accounts import one_time_addresses
from app.accounts.models import ApiKey, Passkey, SignInLink, User, UserSession
from app.accounts.oidc import identities
from app.accounts.oidc.models import OidcIdentity
from app.audit.models import AuditEntry
from app.core.clock import now
from app.core.extensions import db
from app.dashboard.auth.reauthentication import RECENT
from tests.accounts.authenticator import Authenticator
from tests.accounts.codes import code_of, switch_on
from tests.accounts.oidc.conftest import Visit
from tests.accounts.oidc.scripted_provider import ScriptedProvider
from tests.accounts.oidc.test_sign_in import tie
from tests.dashboard.account.test_passkeys import answer_alone, send_new, sign_in_alone
from tests.dashboard.account.test_two_factor import codes_on
from tests.dashboard.conftest import Desk
from tests.factories import PASSWORD

__all__ = ["alone"]

LATER = RECENT + dt.timedelta(seconds=1)
KEY = {"name": "new", "scope": "read"}


@pytest.fixture
def alone(alice: User, visit: Visit, provider: ScriptedProvider) -> Visit:
    """Alice, signed in by the provider, without a password."""
    alice.password_hash = identities.NO_PASSWORD
    tie(alice, provider)
    assert visit.sign_in().location == "/dashboard/"
    return visit


def make_key(visit: Visit) -> int:
    return visit.post("/dashboard/keys/new", "/dashboard/account/", **KEY).status_code


def test_no_password_fits(alone: Visit) -> None:
    for password in ("", "x", PASSWORD):
        other = Desk(alone.client.application.test_client(), "alice@example.com")
        data = {"csrf_token": other.token("/login"), "email": other.email, "password": password}
        assert other.client.post("/login", data=data).status_code in {403, 422}


class TestReauthentication:
    """In place of the password: a fresh sign-in at the provider."""

    def test_an_old_sign_in_at_the_provider_is_not(self, alone: Visit, provider: ScriptedProvider) -> None:
        alone.post("/logout", "/logout")
        provider.auth_time = int(time.time()) - 3600
        alone.sign_in()
        assert make_key(alone) == 422

    def test_the_form_leads_to_the_provider_and_back(self, alone: Visit, provider: ScriptedProvider) -> None:
        with time_machine.travel(now() + LATER):
            page = alone.client.get("/dashboard/keys/new").text
            assert 'name="own_password"' not in page
            found = re.search(r'href="(/login/oidc/again\?next=[^"]+)"', page)
            assert found
            assert make_key(alone) == 422
            answer = alone.sign_in(found[1])
            assert answer.location == "/dashboard/keys/new"
            assert {name: provider.asked[-1].get(name) for name in ("prompt", "max_age")} == {
                "prompt": "login",
                "max_age": "0",
            }
            assert make_key(alone) == 200
        assert len(db.session.scalars(select(ApiKey)).all()) == 1

    def test_a_provider_that_did_not_ask_is_refused(self, alone: Visit, provider: ScriptedProvider) -> None:
        with time_machine.travel(now() + LATER):
            provider.auth_time = int(time.time()) - 3600
            answer = alone.sign_in("/login/oidc/again", next="/dashboard/keys/new")
            assert "did not say that you have just signed in" in alone.notice(answer)
            provider.auth_time, provider.claims = None, {"auth_time": None}
            alone.sign_in("/login/oidc/again", next="/dashboard/keys/new")
            assert make_key(alone) == 422

    def test_a_provider_that_never_tells_is_believed(
        self, alone: Visit, provider: ScriptedProvider, app: Flask
    ) -> None:
        app.extensions["oidc"]._metadata._value = app.extensions["oidc"]._metadata._value._replace(claims=())
        provider.claims = {"auth_time": None}
        with time_machine.travel(now() + LATER):
            alone.sign_in("/login/oidc/again", next="/dashboard/keys/new")
            assert make_key(alone) == 200

    def test_another_person_at_the_provider_is_refused(
        self, alone: Visit, bob: User, provider: ScriptedProvider
    ) -> None:
        tie(bob, provider, "bob-1")
        provider.person = {"sub": "bob-1", "email": "bob@example.com", "email_verified": True}
        with time_machine.travel(now() + LATER):
            alone.sign_in("/login/oidc/again", next="/dashboard/keys/new")
            assert make_key(alone) == 422
            assert "alice@example.com" in alone.client.get("/dashboard/account/").text

    def test_an_answer_to_another_session_is_refused(self, alone: Visit, provider: ScriptedProvider) -> None:
        with time_machine.travel(now() + LATER):
            address = provider.authorize(alone.begin("/login/oidc/again"))
            alone.post("/logout", "/logout")
            alone.come_back(address)
            assert not alone.is_signed_in()

    def test_a_download_leads_there_and_back(self, alone: Visit) -> None:
        with time_machine.travel(now() + LATER):
            page = alone.client.get("/dashboard/links/export.csv")
            assert page.status_code == 403
            found = re.search(r'href="(/login/oidc/again\?next=[^"]+)"', page.text)
            assert found
            answer = alone.sign_in(found[1].replace("&amp;", "&"))
            done = alone.client.get(answer.location)
            assert done.headers["Refresh"] == "0; url=/dashboard/links/export.csv"

    @pytest.mark.parametrize(
        ("page", "path", "fields"),
        [
            ("/dashboard/account/two-factor", "/dashboard/account/two-factor/start", {}),
            ("/dashboard/account/email", "/dashboard/account/email", {"new_email": "a@b.example"}),
            ("/dashboard/account/delete", "/dashboard/account/delete", {"own_email": "alice@example.com"}),
        ],
    )
    def test_forms_that_always_ask(
        self, alone: Visit, bob: User, page: str, path: str, fields: dict[str, str]
    ) -> None:
        bob.is_admin = True  # the last admin can't leave
        db.session.commit()
        with time_machine.travel(now() + LATER):
            assert "/login/oidc/again" in alone.client.get(page).text
            answer = alone.post(path, page, **fields)
            assert answer.status_code == 422
            assert "/login/oidc/again" in answer.text
            alone.sign_in("/login/oidc/again", next=page)
            assert "current_password" not in alone.client.get(page).text
            assert alone.post(path, page, **fields).status_code == 303


@pytest.mark.settings(OIDC_ONLY="on", OIDC_NAME="Example ID", SMTP_URL="smtp://127.0.0.1:9")
class TestOnly:
    """`OIDC_ONLY`: passwords are off."""

    def test_the_page_has_the_button_alone(self, alice: User, visit: Visit) -> None:
        page = visit.client.get("/login").text
        assert "Continue with Example ID" in page
        assert 'type="password"' not in page
        assert "Forgotten" not in page

    def test_a_right_password_is_refused(self, alice: User, visit: Visit) -> None:
        page = f"/login/link?token={sign_in_link_of(alice)}"
        answer = visit.post("/login", page, email=alice.email, password=PASSWORD)
        assert (answer.status_code, "Passwords are off" in answer.text) == (403, True)
        assert not visit.is_signed_in()

    def test_an_account_is_not_linked_by_its_password(
        self, alice: User, visit: Visit, provider: ScriptedProvider
    ) -> None:
        assert "does not use single sign-on yet" in visit.notice(visit.sign_in())
        identities.allow(alice, provider.url)
        db.session.commit()
        assert visit.sign_in().location == "/dashboard/"

    def test_pages_about_passwords_are_gone(
        self, alice: User, visit: Visit, provider: ScriptedProvider
    ) -> None:
        token = one_time_addresses.make_reset(db.session, alice)
        db.session.commit()
        for path in ("/login/forgotten", f"/login/reset?token={token}"):
            assert visit.client.get(path).status_code == 404
        tie(alice, provider)
        visit.sign_in()
        assert "new-password" not in visit.client.get("/dashboard/account/").text
        for path in ("/dashboard/account/password", "/login/reset", "/setup/invitation", "/setup"):
            sent = {"current_password": PASSWORD, "password": "another password of hers", "token": token}
            answer = visit.post(path, "/dashboard/account/", **sent)
            assert answer.status_code == 404, path

    @pytest.mark.databases
    def test_a_link_of_the_operator_opens_once(self, alice: User, visit: Visit) -> None:
        token = one_time_addresses.make_sign_in_link(alice)
        db.session.commit()
        address = f"/login/link?token={token}"
        for _ in range(2):  # looking at it uses nothing up
            assert alice.email in visit.client.get(address).text
        other = Visit(visit.client.application.test_client(), visit.provider)
        assert visit.post("/login/link", address, token=token).location == "/dashboard/"
        assert visit.is_signed_in()
        assert make_key(visit) == 200
        assert other.client.get(address).status_code == 410
        entry = db.session.scalars(select(AuditEntry).where(AuditEntry.action == "sign_in")).one()
        assert entry.changes == {"method": "link"}

    @pytest.mark.parametrize("why", ["expired", "replaced", "sessions ended", "disabled"])
    def test_a_link_that_is_over(self, alice: User, bob: User, visit: Visit, why: str) -> None:
        token = one_time_addresses.make_sign_in_link(alice)
        if why == "replaced":
            one_time_addresses.make_sign_in_link(alice)
        if why == "sessions ended":
            alice.session_version = User.session_version + 1
        if why == "disabled":
            alice.disabled_datetime = now()
        db.session.commit()
        later = one_time_addresses.LIFETIMES[SignInLink] if why == "expired" else dt.timedelta()
        with time_machine.travel(now() + later):
            assert visit.client.get(f"/login/link?token={token}").status_code == 410
            page = "/login/link?token=" + sign_in_link_of(bob)
            assert visit.post("/login/link", page, token=token).status_code == 410
        assert not visit.is_signed_in()

    def test_a_link_asks_for_the_second_factor(self, alice: User, visit: Visit) -> None:
        switch_on(alice)
        page = f"/login/link?token={sign_in_link_of(alice)}"
        token = page.partition("token=")[2]
        assert visit.post("/login/link", page, token=token).location == "/login/code"
        assert visit.post("/login/code", "/login/code", code=code_of(alice, 1)).location == "/dashboard/"


class TestAFormWhoseSessionWasOver:
    """The provider takes the browser away, so the kept form stays in its tab and the sign-in has another."""

    def test_goes_on_after_a_sign_in_in_another_tab(self, alone: Visit) -> None:
        page = alone.client.get("/dashboard/projects/new").text
        sent = {name: hidden(page, name) for name in ("csrf_token", "account")}
        db.session.query(UserSession).delete()
        db.session.commit()
        answer = alone.client.post("/dashboard/projects/new", data={**sent, "name": "Kept"})
        assert answer.status_code == 401
        assert 'target="_blank"' in answer.text
        kept = hidden(answer.text, "kept")
        assert alone.sign_in(next="/dashboard/signed-in").location == "/dashboard/signed-in"
        page = alone.post("/login", "/dashboard/account/", kept=kept)
        assert page.status_code == 200
        assert 'action="/dashboard/projects/new"' in page.text
        assert "Kept" in page.text


def hidden(page: str, name: str) -> str:
    found = re.search(rf'name="{name}" value="([^"]*)"', page)
    assert found, name
    return html.unescape(found[1])


def sign_in_link_of(user: User) -> str:
    token = one_time_addresses.make_sign_in_link(user)
    db.session.commit()
    return token


class TestAnAdmin:
    @pytest.fixture
    def act(self, alice: User, client: Any) -> Callable[[str, User], int]:
        desk = Desk(client, alice.email).sign_in()
        return lambda action, user: int(desk.post(f"/users/{user.id}/{action}", {}).status_code)

    def test_allows_and_removes_a_link(
        self, bob: User, act: Callable[[str, User], int], provider: ScriptedProvider, client: Any
    ) -> None:
        assert act("allow-single-sign-on", bob) == 303
        provider.person = {"sub": "bob-1", "email": "bob@example.com", "email_verified": True}
        his = Visit(client.application.test_client(), provider)
        his.sign_in()
        assert his.is_signed_in()
        assert "Remove the link of bob@example.com to single sign-on" in client.get("/dashboard/users/").text
        assert act("unlink-single-sign-on", bob) == 303
        assert not his.is_signed_in()
        db.session.rollback()
        assert db.session.scalars(select(OidcIdentity)).all() == []
        actions = [
            entry.action for entry in db.session.scalars(select(AuditEntry)) if "identity" in entry.action
        ]
        assert actions == ["identity.allowed", "identity.linked", "identity.unlinked"]

    def test_does_not_allow_an_address_that_is_not_confirmed(
        self, bob: User, act: Callable[[str, User], int]
    ) -> None:
        bob.verified_email = None
        assert act("allow-single-sign-on", bob) == 422


def test_an_owner_removes_the_link(alice: User, visit: Visit, provider: ScriptedProvider) -> None:
    tie(alice, provider)
    visit.sign_in()
    page = visit.client.get("/dashboard/account/").text
    assert "By single sign-on" in page
    assert visit.post("/dashboard/account/single-sign-on/unlink", "/dashboard/account/").status_code == 303
    assert visit.is_signed_in()
    db.session.rollback()
    assert db.session.scalars(select(OidcIdentity)).all() == []


def desk_of(visit: Visit) -> Desk:
    return Desk(visit.client, "alice@example.com")


def enrol(visit: Visit, device: Authenticator) -> list[str]:
    desk = desk_of(visit)
    assert desk.post("/account/passkeys/start", {}).status_code == 303
    return codes_on(send_new(desk, device).text)


def test_enrolling_takes_a_fresh_sign_in_at_the_provider(alone: Visit, alice: User) -> None:
    with time_machine.travel(now() + LATER):
        page = desk_of(alone).post("/account/passkeys/start", {})
        assert page.status_code == 422
        assert "/login/oidc/again" in page.text
        assert (
            alone.sign_in("/login/oidc/again", next="/dashboard/account/").location == "/dashboard/account/"
        )
        assert len(enrol(alone, Authenticator())) == 10
    assert db.session.scalars(select(Passkey.user_id)).all() == [alice.id]


def test_it_signs_in_alone_and_the_provider_goes_on_to(alone: Visit, provider: ScriptedProvider) -> None:
    device = Authenticator()
    enrol(alone, device)
    alone.post("/logout", "/logout")
    assert not alone.is_signed_in()
    assert sign_in_alone(alone.client, answer_alone(alone.client, device)).status_code == 303
    assert alone.is_signed_in()
    # while the provider is down, too
    alone.post("/logout", "/logout")
    provider.is_down = True
    assert sign_in_alone(alone.client, answer_alone(alone.client, device)).status_code == 303
    assert alone.is_signed_in()
    # what the provider signs in asks for the second factor that was switched on with it
    provider.is_down = False
    alone.post("/logout", "/logout")
    assert "/login/code" in alone.sign_in().location
    assert not alone.is_signed_in()


def test_a_recovery_code_opens_after_the_provider(alone: Visit) -> None:
    codes = enrol(alone, Authenticator())
    alone.post("/logout", "/logout")
    alone.sign_in()
    answer = alone.post("/login/code", "/login/code", code=codes[0])
    assert answer.status_code == 303
    assert alone.is_signed_in()
    alone.post("/logout", "/logout")
    alone.sign_in()
    assert alone.post("/login/code", "/login/code", code=codes[0]).status_code == 403
    assert not alone.is_signed_in()
