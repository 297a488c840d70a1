"""Passkeys of users whom only the provider knows: with no password, a fresh sign-in there stands for it."""

from __future__ import annotations

import time_machine
from sqlalchemy import select

from app.accounts.models import Passkey, User
from app.core.clock import now
from app.core.extensions import db
from tests.accounts.authenticator import Authenticator
from tests.accounts.oidc.conftest import Visit
from tests.accounts.oidc.scripted_provider import ScriptedProvider
from tests.accounts.oidc.test_without_passwords import LATER, alone
from tests.dashboard.account.test_passkeys import answer_alone, send_new, sign_in_alone
from tests.dashboard.account.test_two_factor import codes_on
from tests.dashboard.conftest import Desk

__all__ = ["alone"]


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
