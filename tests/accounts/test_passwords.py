"""Hashes of passwords: which passwords match, and which hashes are outdated."""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from app.accounts import passwords

pytestmark = pytest.mark.real_hashing


def test_only_the_same_password_matches() -> None:
    stored = passwords.hash_password("plum tree")
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert passwords.check_password(stored, "plum tree")
    assert not passwords.check_password(stored, "plum tree ")
    assert not passwords.check_password(stored, "Plum tree")


def test_the_same_letters_typed_otherwise_are_the_same_password() -> None:
    assert passwords.check_password(passwords.hash_password("caf\u00e9 noir"), "cafe\u0301 noir")


def test_two_hashes_of_one_password_differ() -> None:
    assert passwords.hash_password("plum tree") != passwords.hash_password("plum tree")


def test_a_huge_or_unwritable_guess_is_only_wrong() -> None:
    stored = passwords.hash_password("plum tree")
    assert not passwords.check_password(stored, "x" * 5_000_000)
    assert not passwords.check_password(stored, "\ud800")


def test_a_hash_of_other_parameters_is_outdated() -> None:
    assert not passwords.is_outdated(passwords.hash_password("plum tree"))
    assert passwords.is_outdated(PasswordHasher(time_cost=1, memory_cost=64, parallelism=1).hash("plum tree"))
