"""Passkeys: registration, use and removal, with a simulated authenticator that can lie."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Callable
from functools import partial

import pytest
import time_machine
from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.accounts import passkey_ceremonies, passkeys, second_factor
from app.accounts.models import Passkey, RecoveryCode, User
from app.accounts.passkey_ceremonies import (
    ADD,
    CLONED,
    PROOF,
    REPLAYED,
    SECOND_FACTOR,
    SIGN_IN,
    UNKNOWN,
    WRONG,
    Ceremony,
    PasskeyRefused,
    verify_registration,
)
from app.core.clock import now
from app.core.errors import NotFound
from app.core.extensions import db
from tests.accounts import authenticator
from tests.accounts.authenticator import Authenticator
from tests.accounts.codes import switch_on
from tests.threads import at_once
from tests.writes import write

SITE = {"rp_id": "localhost", "origin": "http://localhost", "browser": "this browser"}


def ceremony(purpose: str, user: User | None = None, **changes: str) -> Ceremony:
    return Ceremony(purpose, **(SITE | changes), user_id=user.id if user else 0)


def register(user: User, device: Authenticator, name: str = "Phone") -> Passkey:
    """Adds the device's passkey, as the account page does."""
    known, handle = ceremony(ADD, user), passkeys.handle_of(user)
    options = passkeys.registration_options(user, known, handle)
    made = verify_registration(device.create(options), known)
    drawn = None if second_factor.is_on(user) else second_factor.make_codes(user)
    return write(passkeys.add, user, made, name, handle, drawn)


def use(device: Authenticator, known: Ceremony, user: User | None = None) -> Passkey:
    return send(device.get(passkeys.authentication_options(known, user)), known)


def send(text: str, known: Ceremony) -> Passkey:
    row = passkeys.find_sent(text, known)
    passkeys.use(text, row, known)
    db.session.commit()
    return row


def reason_of(act: Callable[[], object]) -> str:
    with pytest.raises(PasskeyRefused) as refused:
        act()
    return refused.value.reason


def test_the_first_one_turns_two_factor_on_with_recovery_codes(alice: User) -> None:
    device = Authenticator(aaguid=authenticator.APPLE, flags=29)
    row = register(alice, device)
    assert second_factor.is_on(alice)
    assert not second_factor.has_app(alice)
    assert second_factor.codes_left(alice) == 10
    assert (row.name, row.transports, row.sign_count) == ("Phone", ["internal"], 0)
    assert (row.is_backup_eligible, row.is_backed_up, row.last_datetime) == (True, True, None)
    assert row.user_handle == device.user_handle
    assert len(row.user_handle) == 86  # 64 random bytes


def test_a_second_one_has_the_same_handle_and_leaves_the_codes_alone(
    alice: User, session: scoped_session[Session]
) -> None:
    register(alice, Authenticator())
    before = session.scalars(select(RecoveryCode.digest)).all()
    other = Authenticator()
    register(alice, other, "Key")
    assert session.scalars(select(RecoveryCode.digest)).all() == before
    assert {row.user_handle for row in passkeys.list_passkeys(alice)} == {other.user_handle}
    options = passkeys.registration_options(alice, ceremony(ADD, alice), passkeys.handle_of(alice))
    assert len(options["excludeCredentials"]) == 2
    assert options["attestation"] == "none"


def test_alone_it_says_who_signs_in(alice: User, bob: User) -> None:
    register(bob, Authenticator())
    device = Authenticator()
    register(alice, device)
    known = ceremony(SIGN_IN)
    options = passkeys.authentication_options(known)
    assert (options["allowCredentials"], options["userVerification"]) == ([], "required")
    row = send(device.get(options), known)
    assert row.user == alice
    assert row.last_datetime is not None
    assert row.sign_count == 1


def test_as_the_second_factor_only_the_accounts_own_are_asked_for(alice: User, bob: User) -> None:
    device, others = Authenticator(flags=authenticator.PRESENT), Authenticator()
    register(alice, device)
    register(bob, others)
    known = ceremony(SECOND_FACTOR, alice)
    options = passkeys.authentication_options(known, alice)
    assert len(options["allowCredentials"]) == 1
    assert options["userVerification"] == "preferred"
    assert send(device.get(options), known).user == alice
    assert reason_of(lambda: send(others.get(options), known)) == UNKNOWN


LIES: dict[str, Callable[[Authenticator], None]] = {
    "the origin of another site": lambda device: setattr(device, "origin", "http://evil.example"),
    "another port": lambda device: setattr(device, "origin", "http://localhost:8080"),
    "another scheme": lambda device: setattr(device, "origin", "https://localhost"),
    "the origin with something behind": lambda device: setattr(device, "origin", "http://localhost.evil"),
    "a page in a frame": lambda device: setattr(device, "is_framed", True),
    "another host": lambda device: setattr(device, "rp_id", "evil.example"),
    "no user present": lambda device: setattr(device, "flags", authenticator.VERIFIED),
    "a user that is not verified": lambda device: setattr(device, "flags", authenticator.PRESENT),
    "another key": lambda device: setattr(device, "key", Authenticator().key),
    "another account's handle": lambda device: setattr(device, "user_handle", "AAAA"),
    "no handle": lambda device: setattr(device, "user_handle", None),
    "backed up but not eligible": lambda device: setattr(device, "flags", 1 | 4 | 16),
}


def test_a_sign_in_that_lies(alice: User) -> None:
    for name, lie in LIES.items():
        device = Authenticator()
        row = register(alice, device)
        lie(device)
        assert reason_of(partial(use, device, ceremony(SIGN_IN))) == WRONG, name
        db.session.refresh(row)
        assert (row.sign_count, row.last_datetime) == (0, None), name


def test_a_proof_needs_a_verified_user(alice: User) -> None:
    device = Authenticator(flags=authenticator.PRESENT)
    register(alice, device)
    assert reason_of(lambda: use(device, ceremony(PROOF, alice), alice)) == WRONG
    device.flags |= authenticator.VERIFIED
    assert use(device, ceremony(PROOF, alice), alice).user == alice


OTHERS: dict[str, Callable[[User, User], Ceremony]] = {
    "another purpose": lambda alice, _bob: ceremony(PROOF, alice),
    "another browser": lambda alice, _bob: ceremony(SECOND_FACTOR, alice, browser="another"),
    "another account": lambda _alice, bob: ceremony(SECOND_FACTOR, bob),
    "another host": lambda alice, _bob: ceremony(SECOND_FACTOR, alice, rp_id="go.example"),
    "no account": lambda _alice, _bob: ceremony(SIGN_IN),
}


def test_a_challenge_is_good_for_its_ceremony_alone(alice: User, bob: User) -> None:
    for name, other in OTHERS.items():
        device = Authenticator()
        register(alice, device)
        challenge = passkey_ceremonies.authentication_options(other(alice, bob))
        text = device.get(challenge)
        assert reason_of(partial(send, text, ceremony(SECOND_FACTOR, alice))) == WRONG, name


def test_a_challenge_expires(alice: User) -> None:
    device, known = Authenticator(), ceremony(SIGN_IN)
    register(alice, device)
    text = device.get(passkeys.authentication_options(known))
    with time_machine.travel(now() + dt.timedelta(seconds=301)):
        assert reason_of(lambda: send(text, known)) == WRONG


@pytest.mark.parametrize("counts", [True, False], ids=["one that counts", "one that never counts"])
def test_an_answer_works_once(alice: User, counts: bool) -> None:
    device, known = Authenticator(counts=counts), ceremony(SIGN_IN)
    register(alice, device)
    text = device.get(passkeys.authentication_options(known))
    send(text, known)
    assert reason_of(lambda: send(text, known)) == REPLAYED
    use(device, known)
    assert reason_of(lambda: send(text, known)) == REPLAYED


@pytest.mark.databases
def test_of_the_same_answer_sent_twice_at_once_one_counts(app: Flask, alice: User) -> None:
    device, known = Authenticator(counts=False), ceremony(SIGN_IN)
    register(alice, device)
    text = device.get(passkeys.authentication_options(known))
    db.session.rollback()

    def once(_: int) -> str:
        with app.app_context():
            try:
                send(text, known)
            except PasskeyRefused as refused:
                return refused.reason
            return "accepted"

    assert sorted(at_once(once, range(4))) == ["accepted"] + [REPLAYED] * 3


# each: the counts that the authenticator says one after the other, and what becomes of them
COUNTS: dict[str, tuple[list[int], list[str]]] = {
    "always zero": ([0, 0, 0], ["", "", ""]),
    "growing": ([1, 2, 9], ["", "", ""]),
    "the same again": ([5, 5, 6], ["", CLONED, ""]),
    "going back": ([5, 3, 4, 6], ["", CLONED, CLONED, ""]),
    "back to zero": ([5, 0], ["", CLONED]),
    "from zero on": ([0, 0, 1, 0], ["", "", "", CLONED]),
}


def test_sign_counts(alice: User) -> None:
    for name, (counts, expected) in COUNTS.items():
        device, found = Authenticator(counts=False), []
        row = register(alice, device)
        for count in counts:
            device.sign_count = count
            try:
                use(device, ceremony(SIGN_IN))
                found.append("")
            except PasskeyRefused as refused:
                found.append(refused.reason)
        assert found == expected, name
        db.session.refresh(row)
        assert row.sign_count == max(count for count, why in zip(counts, found, strict=True) if not why), name


def test_removing_them(alice: User) -> None:
    one, two = register(alice, Authenticator()), register(alice, Authenticator())
    assert not passkeys.is_last_factor(one, alice)
    passkeys.remove(one, alice)
    assert (second_factor.is_on(alice), second_factor.codes_left(alice)) == (True, 10)
    assert passkeys.is_last_factor(two, alice)
    passkeys.remove(two, alice)
    assert (second_factor.is_on(alice), second_factor.codes_left(alice)) == (False, 0)
    db.session.commit()
    with pytest.raises(NotFound):
        passkeys.rename(two, "Gone")


def test_beside_an_app(alice: User) -> None:
    switch_on(alice)
    row = register(alice, Authenticator())
    assert second_factor.codes_left(alice) == 10
    assert not passkeys.is_last_factor(row, alice)
    second_factor.remove_app(alice)
    assert (second_factor.is_on(alice), second_factor.codes_left(alice)) == (True, 10)
    assert passkeys.is_last_factor(row, alice)
    switch_on(alice)  # a new app beside the passkey
    assert (second_factor.has_passkey(alice), second_factor.codes_left(alice)) == (True, 10)
    passkeys.remove(row, alice)
    assert (second_factor.is_on(alice), second_factor.codes_left(alice)) == (True, 10)


def nested(depth: int) -> str:
    return "[" * depth + "]" * depth


NONSENSE = {
    "nothing": "",
    "no JSON": "passkey",
    "a list": "[]",
    "an empty object": "{}",
    "too long": json.dumps({"id": "A" * 20_000}),
    "too deep": '{"id":' + nested(5000) + "}",
    "a character of no encoding": '{"id":"\\ud800"}',
    "NUL": '{"id":"\\u0000"}',
}


def test_nonsense_is_refused(alice: User) -> None:
    register(alice, Authenticator())
    for name, text in NONSENSE.items():
        assert reason_of(partial(send, text, ceremony(SIGN_IN))) == WRONG, name
        assert reason_of(partial(verify_registration, text, ceremony(ADD, alice))) == WRONG, name
