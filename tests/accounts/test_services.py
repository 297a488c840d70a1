"""Accounts: creation, authentication, standing and sessions."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
import sqlalchemy as sa
import time_machine
from argon2 import PasswordHasher
from flask import Flask
from sqlalchemy import select

from app.accounts import keys, passwords, services, sessions, standing
from app.accounts.deletion import leaving
from app.accounts.models import User, UserSession
from app.accounts.standing import LastAdmin
from app.core.clock import now
from app.core.database import begin_write
from app.core.errors import Invalid
from app.core.extensions import db
from tests.factories import PASSWORD
from tests.threads import at_once
from tests.users import create_user, set_password
from tests.writes import write


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


def admins() -> list[str]:
    return list(db.session.scalars(select(User.email).where(User.is_admin).order_by(User.id)))


SHUT = {
    "disabled": (standing.disable, standing.enable),
    "deleted": (leaving.leave, leaving.come_back),
}


@pytest.mark.databases
@pytest.mark.parametrize(("shut", "let_in"), SHUT.values(), ids=SHUT.keys())
def test_who_is_shut_out_has_no_way_in_until_let_in_again(
    bob: User, make_key: Callable[..., Any], shut: Any, let_in: Any
) -> None:
    before, (_, key) = sessions.begin(bob), make_key(bob)
    write(shut, bob)
    assert sessions.find(before) is None
    assert sessions.find(sessions.begin(bob)) is None
    assert keys.find_key(key) is None
    assert services.authenticate(bob.email, "not this one") is None
    with pytest.raises(services.ShutOut):
        services.authenticate(bob.email, PASSWORD)
    write(let_in, bob)
    assert sessions.find(before) is None  # an ended session stays ended
    assert services.authenticate(bob.email, PASSWORD) == bob
    assert keys.find_key(key)


def test_a_key_that_is_remembered_dies_at_once(bob: User, make_key: Callable[..., Any]) -> None:
    _, key = make_key(bob)
    assert keys.find_key(key)
    write(standing.disable, bob)
    assert keys.find_key(key) is None


@pytest.mark.parametrize("service", [standing.unmake_admin, standing.disable, leaving.leave])
def test_the_last_admin_stays(alice: User, bob: User, service: Any) -> None:
    with pytest.raises(Invalid):
        write(service, alice)
    db.session.rollback()
    assert admins() == [alice.email]
    write(standing.make_admin, bob)
    write(service, alice)


@pytest.mark.parametrize("shut", [standing.disable, leaving.leave])
def test_an_admin_who_may_not_come_in_is_none(alice: User, bob: User, shut: Any) -> None:
    write(standing.make_admin, bob)
    write(shut, bob)
    with pytest.raises(LastAdmin):
        write(standing.unmake_admin, alice)
    db.session.rollback()
    with pytest.raises(Invalid):
        write(standing.make_admin, bob)
    db.session.rollback()


def test_who_is_alone_may_leave_and_the_next_one_is_the_first(alice: User) -> None:
    write(leaving.leave, alice)
    assert not services.has_users()
    assert create_user("new@example.com", PASSWORD).is_admin


@pytest.mark.databases
@pytest.mark.parametrize(
    "service",
    [standing.unmake_admin, standing.disable, leaving.leave],
    ids=["unmade", "disabled", "deleted"],
)
def test_of_two_admins_who_go_at_once_one_stays(
    app: Flask, alice: User, bob: User, make_user: Callable[..., User], service: Any
) -> None:
    make_user()
    write(standing.make_admin, bob)
    ids = [alice.id, bob.id]
    db.session.rollback()

    def refused(user_id: int) -> int:
        with app.app_context():
            try:
                write(service, db.session.get_one(User, user_id))
            except Invalid:
                db.session.rollback()
                return user_id
            return 0

    went, stayed = sorted(at_once(refused, ids))
    assert went == 0
    stays = db.session.get_one(User, stayed, populate_existing=True)
    assert stays.is_admin and stays.is_active


def test_what_is_no_token_is_nobodys(alice: User) -> None:
    for token in ("", ".", "1.1", "x" * 5000, "é\ud800", "\x00"):
        assert sessions.find(token) is None, token


def test_only_a_digest_is_stored(session, alice: User) -> None:
    token = sessions.begin(alice, browser="B" * 99, system="macOS")
    session.commit()
    row = session.scalars(sa.select(UserSession)).one()
    assert token not in {str(value) for value in vars(row).values()}
    assert (row.browser, row.system, row.user) == ("B" * 64, "macOS", alice)


@pytest.mark.databases
@pytest.mark.parametrize(("is_remembered", "days"), [(True, 30), (False, 1)], ids=["remembered", "not"])
def test_it_lasts_since_the_last_visit(session, alice: User, is_remembered: bool, days: int) -> None:
    year = dt.timedelta(days=365)  # so that the limit since the sign-in does not end it first
    token = sessions.begin(alice, is_remembered=is_remembered, lifetime=year)
    session.commit()
    almost = dt.timedelta(days=days, minutes=-1)
    with time_machine.travel(now() + almost):
        sessions.note_use(sessions.find(token, year), year)
        session.rollback()
        with time_machine.travel(now() + almost):
            assert sessions.find(token, year)
            session.rollback()
        with time_machine.travel(now() + dt.timedelta(days=days, minutes=1)):
            assert sessions.find(token, year) is None
            assert sessions.list_sessions(alice, year) == []
            session.rollback()
            sessions.sweep(session)
            assert session.scalar(sa.select(sa.func.count()).select_from(UserSession)) == 0


def test_it_ends_thirty_days_after_the_sign_in_however_it_is_used(session, alice: User) -> None:
    token, began = sessions.begin(alice, is_remembered=True), now()
    session.commit()
    for day in range(1, 30):
        with time_machine.travel(began + dt.timedelta(days=day)):
            sessions.note_use(sessions.find(token))
            session.rollback()
    with time_machine.travel(began + dt.timedelta(days=30, seconds=1)):
        assert sessions.find(token) is None
        assert sessions.list_sessions(alice) == []


def test_the_last_visit_is_written_seldom(session, alice: User) -> None:
    token = sessions.begin(alice)
    session.commit()
    first = sessions.find(token).last_datetime
    sessions.note_use(sessions.find(token))
    session.rollback()
    assert sessions.find(token).last_datetime == first
    assert first >= sessions.find(token).user.seen_datetime >= alice.datetime
    with time_machine.travel(now() + sessions.SEEN_EVERY):
        sessions.note_use(sessions.find(token))
        session.rollback()
        found = sessions.find(token)
        assert found.last_datetime >= first + sessions.SEEN_EVERY
        assert found.user.seen_datetime >= found.last_datetime
        assert found.user.session_version == found.version


def test_one_ends_or_all_others(session, alice: User, bob: User) -> None:
    mine, second, third, bobs = (sessions.begin(user) for user in (alice, alice, alice, bob))
    session.commit()
    sessions.end(sessions.find(second))
    session.commit()
    assert [sessions.find(token) is not None for token in (mine, second, third, bobs)] == [1, 0, 1, 1]
    assert len(sessions.list_sessions(alice)) == 2
    assert sessions.end_others(sessions.find(mine)) == 1
    session.commit()
    assert [sessions.find(token) is not None for token in (mine, second, third, bobs)] == [1, 0, 0, 1]
