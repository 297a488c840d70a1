"""Are passwords kept and judged as they should be?"""

from __future__ import annotations

import pytest
from argon2 import PasswordHasher

from app.accounts import passwords

pytestmark = pytest.mark.real_hashing

REFUSED = {
    "too short": "seven77",
    "too long": "long enough to be a book " * 42,
    "the word itself": "password",
    "with a capital and a number": "Password123",
    "with look-alikes": "P@ssw0rd!",
    "digits in order": "12345678",
    "digits in order, backwards": "987654321",
    "letters in order": "abcdefgh",
    "along the keyboard": "qwertyuiop",
    "one letter": "aaaaaaaaaaaa",
    "three letters": "abcabcabcabc",
    "the address": "alice@example.com",
    "the name and a year": "Alice2026",
    "the product": "waypost!!",
    "a control character": "correct\x00horse",
    "a lone surrogate": "correct\ud800horse",
}
TAKEN = {
    "a phrase": "correct horse battery staple",
    "eight letters that are no word": "kzpwqumv",
    "digits without order": "80472916",
    "other scripts": "пять слонов",
    "spaces at the ends count": " plum tree ",
    "the most": "plum tree " * 102 + "four",
}


@pytest.mark.parametrize("password", REFUSED.values(), ids=REFUSED)
def test_a_trivial_password_is_refused(password: str) -> None:
    assert passwords.weakness(password, "alice@example.com", "Alice")


@pytest.mark.parametrize("password", TAKEN.values(), ids=TAKEN)
def test_any_other_is_taken_whatever_it_is_made_of(password: str) -> None:
    assert passwords.weakness(password, "alice@example.com", "Alice") is None


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
