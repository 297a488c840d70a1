"""Two-factor authentication: app and recovery codes work exactly once, also when sent at once."""

from __future__ import annotations

import base64
import datetime as dt

import pytest
import sqlalchemy as sa
import time_machine
from flask import Flask

from app.accounts import passwords, second_factor
from app.accounts.models import RecoveryCode, User
from app.core.clock import now
from app.core.database import begin_write
from app.core.extensions import db
from tests.accounts.codes import code_of, switch_on
from tests.threads import at_once
from tests.writes import write

# RFC 6238, appendix B: the last six digits of its SHA-1 values, by second
RFC = {59: "287082", 1111111109: "081804", 1111111111: "050471", 1234567890: "005924", 2000000000: "279037"}


@pytest.mark.parametrize(("second", "code"), RFC.items(), ids=map(str, RFC))
def test_codes_are_those_of_the_rfc(second: int, code: str) -> None:
    secret = base64.b32encode(b"12345678901234567890").decode()
    assert second_factor.step_of(code, secret, second // 30) == second // 30


def opens(user: User, typed: str) -> str | None:
    read = second_factor.read_typed(user, typed)
    return write(second_factor.accept_code, user, read)


def test_nothing_is_asked_for_before_a_code_confirms_it(session, alice: User) -> None:
    second_factor.begin(alice)
    session.commit()
    assert not second_factor.is_on(alice)
    assert second_factor.draw_codes(alice, "000000") is None
    drawn = second_factor.draw_codes(alice, code_of(alice))
    assert not second_factor.confirm(alice, "000000", drawn)
    assert not second_factor.is_on(alice)
    assert second_factor.confirm(alice, code_of(alice), drawn)
    session.commit()
    assert second_factor.is_on(alice)
    assert len(set(drawn.shown)) == second_factor.codes_left(alice) == 10


@pytest.mark.real_hashing
def test_recovery_codes_are_stored_as_argon2id(session, alice: User) -> None:
    codes = switch_on(alice)
    stored = session.scalars(sa.select(RecoveryCode.digest)).all()
    assert len(set(stored)) == 10
    assert all(one.startswith("$argon2id$v=19$m=19456,t=2,p=1$") for one in stored)
    assert not [code for code in codes for one in stored if code in one or code.replace("-", "") in one]
    assert opens(alice, codes[3]) == "recovery"
    assert opens(alice, codes[3]) is None


def test_a_recovery_code_is_looked_for_by_one_hash(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    codes = switch_on(alice)
    hashed = []
    real = passwords.hash_secret
    monkeypatch.setattr(
        passwords, "hash_secret", lambda *args, **more: hashed.append(1) or real(*args, **more)
    )
    assert opens(alice, codes[9]) == "recovery"
    assert len(hashed) == 1


def test_none_is_hashed_inside_a_write(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """No code is hashed inside a write, because a write blocks all other writers."""
    codes = switch_on(alice)
    read = second_factor.read_typed(alice, codes[0])
    monkeypatch.setattr(passwords, "GATE", None)
    begin_write(db.session)
    assert second_factor.accept_code(alice, read) == "recovery"
    db.session.commit()


WRONG = ["", "12345", "1234567", "١٢٣٤٥٦", "abcdef", "-", "x" * 5000, "é\ud800", "0" * 6]


def test_what_is_no_code_opens_nothing(alice: User) -> None:
    switch_on(alice)
    for typed in WRONG:
        assert opens(alice, typed) is None, typed


def test_a_code_opens_once_and_so_does_none_before_it(alice: User) -> None:
    moment = now()
    with time_machine.travel(moment, tick=False):
        switch_on(alice)
    with time_machine.travel(moment + dt.timedelta(seconds=60), tick=False):
        early, code, late = (code_of(alice, steps) for steps in (-1, 0, 1))
        assert opens(alice, f" {code[:3]} {code[3:]}") == "app"
        assert opens(alice, code) is None
        assert opens(alice, early) is None
        assert opens(alice, late) == "app"
    with time_machine.travel(moment + dt.timedelta(seconds=180), tick=False):
        assert opens(alice, code_of(alice, -2)) is None
        assert opens(alice, code_of(alice, 2)) is None
        assert opens(alice, code_of(alice)) == "app"


def test_a_recovery_code_opens_once_and_for_its_owner(alice: User, bob: User) -> None:
    first, second = switch_on(alice)[:2]
    switch_on(bob)
    assert opens(bob, first) is None
    assert opens(alice, first.upper().replace("-", " ")) == "recovery"
    assert opens(alice, first) is None
    assert second_factor.codes_left(alice) == 9
    with time_machine.travel(now() + dt.timedelta(seconds=60)):
        drawn = second_factor.draw_codes(alice, code_of(alice))
        assert second_factor.renew(alice, code_of(alice), drawn)
        db.session.commit()
    assert opens(alice, second) is None
    assert opens(alice, drawn.shown[0]) == "recovery"


@pytest.mark.databases
@pytest.mark.parametrize("kind", ["app", "recovery"])
def test_of_the_same_code_at_once_one_opens(app: Flask, session, alice: User, kind: str) -> None:
    moment = now()
    with time_machine.travel(moment, tick=False):
        recovery = switch_on(alice)[0]
    user_id = alice.id

    def use(code: str) -> str:
        with app.app_context():
            return str(opens(db.session.get_one(User, user_id), code))

    with time_machine.travel(moment + dt.timedelta(seconds=60), tick=False):
        code = recovery if kind == "recovery" else code_of(alice)
        session.rollback()
        found = at_once(use, [code] * 5)
    assert sorted(found) == ["None"] * 4 + [kind]


def test_forgotten_is_forgotten(alice: User) -> None:
    recovery = switch_on(alice)[0]
    write(second_factor.forget, alice)
    assert not second_factor.is_on(alice)
    assert opens(alice, recovery) is None


@pytest.mark.databases
def test_the_secret_is_sealed(session, alice: User) -> None:
    switch_on(alice)
    secret = second_factor.find(alice).settings["secret"]
    assert secret not in session.scalar(sa.text("SELECT settings FROM second_factor"))
