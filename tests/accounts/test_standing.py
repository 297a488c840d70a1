"""Standing of accounts: disabling locks a user out, and there is always an admin."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from sqlalchemy import select

from app.accounts import keys, services, sessions, standing
from app.accounts.deletion import leaving
from app.accounts.models import User
from app.accounts.standing import LastAdmin
from app.core.errors import Invalid
from app.core.extensions import db
from tests.factories import PASSWORD
from tests.threads import at_once
from tests.users import create_user
from tests.writes import write


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
