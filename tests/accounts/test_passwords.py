"""Hashes of passwords: which passwords match, and which hashes are outdated."""

from __future__ import annotations

import pytest

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


def test_a_huge_or_unwritable_guess_is_only_wrong() -> None:
    stored = passwords.hash_password("plum tree")
    assert not passwords.check_password(stored, "x" * 5_000_000)
    assert not passwords.check_password(stored, "\ud800")
