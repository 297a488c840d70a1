"""Password rules: easily guessed passwords are refused wherever one is chosen, and no others are."""

from __future__ import annotations

import gzip

import pytest

from app.accounts.forms import NewPasswordForm, NewUserForm
from app.accounts.models import User
from app.accounts.password_rules import COMMON_FILE, OWN, TRIVIAL, find_weakness
from app.input.data import RequestData
from tests.clients import Api
from tests.dashboard.conftest import Desk, desk
from tests.factories import PASSWORD

__all__ = ["desk"]
ABOUT = ("anna.lee@brightmail.example", "Anna Søndergaard")
REFUSED = {
    "too short": "seven77",
    "too long": "long enough to be a book " * 42,
    "the word itself": "password",
    "with a capital and a number": "Password123",
    "with look-alikes": "P@ssw0rd!",
    "with look-alikes of both kinds": "m1chae1!!",
    "a common word with a year": "Dragon2026!",
    "a common word between signs": "!!sunshine!!",
    "a common word twice": "monkeymonkey",
    "a common one with letters and digits": "1q2w3e4r5t",
    "of a keyboard's columns": "1qaz2wsx3edc",
    "a name and digits": "jennifer1987",
    "a team": "manchester1",
    "digits in order": "12345678",
    "digits in order, backwards": "987654321",
    "letters in order": "abcdefgh",
    "along the keyboard": "qwertyuiop",
    "one letter": "aaaaaaaaaaaa",
    "three letters": "abcabcabcabc",
    "the product": "waypost!!",
    "a control character": "correct\x00horse",
    "a lone surrogate": "correct\ud800horse",
}
OWN_ADDRESS = {
    "the address": "anna.lee@brightmail.example",
    "the local part and a year": "AnnaLee2026",
    "its words turned around": "lee_anna_99",
    "backwards": "eel.anna.1984",
    "the domain and digits": "BrightMail123!",
    "with look-alikes": "4nn4br1ghtm41l",
    "with a letter or two more": "my.brightmail.1",
    "the name and a year": "Søndergaard2026",
}
TAKEN = {
    "a phrase": "correct horse battery staple",
    "eight letters that are no word": "kzpwqumv",
    "digits without order": "80472916",
    "other scripts": "пять слонов",
    "spaces at the ends count": " plum tree ",
    "the most": "plum tree " * 102 + "four",
    "a phrase with one's name in it": "anna likes rainy mondays",
    "a common word among others": "dragon breakfast teapot",
    "one with a short part of the address in it": "leeward gybing yachts",
}


@pytest.mark.parametrize("password", REFUSED.values(), ids=REFUSED)
def test_a_trivial_password_is_refused(password: str) -> None:
    assert find_weakness(password, *ABOUT)


@pytest.mark.parametrize("password", OWN_ADDRESS.values(), ids=OWN_ADDRESS)
def test_one_that_is_made_of_the_own_address_is_refused(password: str) -> None:
    """Either message is right: a part of the password may be a common one as well."""
    assert find_weakness(password, *ABOUT) in {OWN, TRIVIAL}
    assert find_weakness(password, "bob@other.test", "") in {None, TRIVIAL}


@pytest.mark.parametrize("password", TAKEN.values(), ids=TAKEN)
def test_any_other_is_taken_whatever_it_is_made_of(password: str) -> None:
    assert find_weakness(password, *ABOUT) is None


def test_an_address_that_is_one_digit_or_empty_refuses_nothing() -> None:
    for email in ("1@2.3", "", "@", "a@b.c"):
        assert find_weakness("kzpwqumv", email, "") is None


@pytest.mark.full
def test_all_of_the_list_are_refused() -> None:
    listed = gzip.decompress(COMMON_FILE.read_bytes()).decode().splitlines()
    assert len(listed) > 20_000
    assert listed == sorted(set(listed))
    long_enough = [password for password in listed if len(password) >= 8]
    assert not [password for password in long_enough if not find_weakness(password)]
    assert not [password for password in long_enough if not find_weakness(password.upper())]


# ------------------------------------------------ wherever an account's password is chosen

COMMON = "liverpool1"


def test_by_the_forms_of_the_command_line(alice: User) -> None:
    new = NewUserForm(RequestData([("email", "carol@example.com"), ("password", COMMON)]), owner=None)
    another = NewPasswordForm(RequestData([("password", "alice.example.1")]), owner=alice)
    for form, problem in ((new, TRIVIAL), (another, OWN)):
        assert not form.validate()
        assert [one.title for one in form.problems] == [problem]


def test_on_the_account_page(desk: Desk) -> None:
    sent = {"current_password": PASSWORD, "password": COMMON}
    refused(desk.post("/account/password", sent))
    answer = desk.post("/account/password", {**sent, "password": "alice.example.1"})
    assert (answer.status_code, "contains your e-mail address" in answer.text) == (422, True)


def refused(answer) -> None:
    assert answer.status_code == 422
    assert "one of the most common" in answer.text


def test_a_link_may_have_any_password(api: Api) -> None:
    sent = {"location_url": "https://example.com/", "password": COMMON}
    assert api.post("/links", sent).status_code == 201
