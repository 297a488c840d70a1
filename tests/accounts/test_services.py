"""Accounts on both databases: creation, authentication and changes."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher
from flask import Flask

from app.accounts import passwords, services, sessions
from app.accounts.models import User
from app.core.database import begin_write
from app.core.errors import Invalid
from app.core.extensions import db
from tests.factories import PASSWORD
from tests.threads import at_once
from tests.users import create_user, set_password


def test_the_first_user_is_admin_and_later_ones_only_when_said(session) -> None:
    made = [
        create_user(f"{i}@example.com", PASSWORD, is_admin=admin)
        for i, admin in enumerate([False, None, True])
    ]
    assert [user.is_admin for user in made] == [True, False, True]


@pytest.mark.databases
def test_an_address_has_one_account_in_whatever_case(session) -> None:
    create_user("Alice@Example.com", PASSWORD)
    with pytest.raises(Invalid) as caught:
        create_user("alice@EXAMPLE.com ", PASSWORD)
    assert [(error.field, error.code) for error in caught.value.errors] == [("email", "taken")]


@pytest.mark.databases
def test_of_two_first_users_at_once_one_is_admin(app: Flask, session) -> None:

    def create(email: str) -> bool:
        with app.app_context():
            begin_write(db.session)
            is_admin = services.store_user(email, "x").is_admin
            db.session.commit()
            return is_admin

    assert sorted(at_once(create, ["0@example.com", "1@example.com"])) == [False, True]


@pytest.mark.real_hashing
def test_an_unknown_address_costs_a_comparison_too(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[str] = []
    monkeypatch.setattr(passwords, "check_password", lambda stored, password: bool(compared.append(stored)))
    assert services.authenticate("nobody@example.com", PASSWORD) is None
    assert services.authenticate("alice@example.com", PASSWORD) is None
    assert [stored.rpartition("$")[0].count("m=19456,t=2,p=1") for stored in compared] == [1, 1]


@pytest.mark.real_hashing
def test_an_outdated_hash_is_made_anew_at_sign_in(alice: User, session) -> None:
    alice.password_hash = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(PASSWORD)
    version = alice.session_version
    session.commit()
    assert services.authenticate(alice.email, "wrong") is None
    assert passwords.is_outdated(alice.password_hash)
    assert services.authenticate(alice.email, PASSWORD) == alice
    session.commit()
    assert not passwords.is_outdated(alice.password_hash)
    assert passwords.check_password(alice.password_hash, PASSWORD)
    assert alice.session_version == version


@pytest.mark.databases
def test_a_hash_made_anew_never_undoes_a_new_password(app: Flask, alice: User, session) -> None:
    alice.password_hash = PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash(PASSWORD)
    session.commit()
    seen = db.session.get_one(User, alice.id)
    old = seen.password_hash
    with app.app_context():
        set_password(db.session.get_one(User, 1), "another password altogether")
        db.session.commit()
    assert seen.password_hash == old  # this request has read the old hash
    services.renew_hash(seen, PASSWORD)
    session.commit()
    assert passwords.check_password(alice.password_hash, "another password altogether")


def test_a_new_password_ends_every_session(alice: User, session) -> None:
    before = sessions.begin(alice)
    assert sessions.find(before)
    set_password(alice, "another password altogether")
    session.commit()
    assert sessions.find(before) is None
    assert sessions.find(sessions.begin(alice))
    assert services.authenticate(alice.email, PASSWORD) is None


def test_only_what_was_sent_changes(alice: User, session) -> None:
    services.update_user(alice, {"timezone": "Europe/Berlin"})
    session.commit()
    assert (alice.email, alice.timezone) == ("alice@example.com", "Europe/Berlin")


def test_ones_address_can_change_but_not_to_anothers(alice: User, bob: User, session) -> None:
    services.update_user(alice, {"email": "Alice@example.com"})
    services.update_user(alice, {"email": "a@example.com"})
    with pytest.raises(Invalid):
        services.update_user(alice, {"email": bob.email})
