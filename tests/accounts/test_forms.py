"""Forms of accounts and keys: which input is valid, and which passwords are refused as easily guessed."""

from __future__ import annotations

import datetime as dt
import gzip
from zoneinfo import ZoneInfo

import pytest
import time_machine

from app.accounts.forms import AccountForm, KeyForm, NewPasswordForm, NewUserForm, PasswordForm, zones
from app.accounts.models import User
from app.accounts.passwords import COMMON_FILE, OWN, TRIVIAL, find_weakness
from app.input.data import RequestData
from tests.clients import Api
from tests.dashboard.conftest import Desk, desk
from tests.factories import PASSWORD

__all__ = ["desk"]

NOW = dt.datetime(2026, 11, 20, tzinfo=dt.UTC)
EMAILS = {
    "alice@example.com": "alice@example.com",
    "  Alice@Example.COM ": "alice@example.com",
    "root@localhost": "root@localhost",
    "a.b+c@mail.home.local": "a.b+c@mail.home.local",
    "jörg@münchen.example": "jörg@münchen.example",
}
NO_EMAILS = ["", "alice", "@example.com", "alice@", "a b@example.com", "a@b@c.de", "a@example..com", "a@b.de\n\nx", "a\x00@b.de", "x" * 320 + "@b.de"]  # fmt: skip


def codes(form: AccountForm | KeyForm | NewUserForm | PasswordForm) -> dict[str, str]:
    form.validate()
    return {str(problem.field): problem.code for problem in form.problems}


@pytest.mark.parametrize(("typed", "stored"), EMAILS.items())
def test_an_address_is_taken_by_its_form_alone(typed: str, stored: str) -> None:
    form = NewUserForm(RequestData([("email", typed), ("password", "plum tree, two")]), owner=None)
    assert codes(form) == {}
    assert form.changes["email"] == stored


@pytest.mark.parametrize("typed", NO_EMAILS)
def test_what_is_no_address_is_said(typed: str) -> None:
    form = NewUserForm(RequestData([("email", typed), ("password", "plum tree, two")]), owner=None)
    assert list(codes(form)) == ["email"]


def test_all_that_is_wrong_is_said_at_once() -> None:
    form = NewUserForm(RequestData([("email", "x"), ("name", "n" * 129), ("password", "short")]), owner=None)
    assert codes(form) == {"email": "email", "name": "too_long", "password": "weak_password"}


def test_a_password_is_never_shown_again() -> None:
    form = NewUserForm(
        RequestData([("email", "alice@example.com"), ("password", "plum tree, two")]), owner=None
    )
    assert form.email.raw_text() == "alice@example.com"
    assert form.password.raw_text() == ""


def test_a_new_password_is_judged_by_whose_it_is() -> None:
    owner = User(email="alice@example.com", name="Wonderland")
    sent = [("current_password", "whatever it was"), ("password", "Wonderland2026")]
    assert codes(PasswordForm(RequestData(sent), owner=owner)) == {"password": "weak_password"}
    assert codes(PasswordForm(RequestData([]), owner=owner)) == {
        "current_password": "required",
        "password": "required",
    }


def test_every_zone_on_offer_is_one_and_nothing_else_is_taken() -> None:
    assert {"UTC", "Europe/Berlin", "Asia/Kolkata", "America/Argentina/Buenos_Aires"} <= set(zones())
    assert all(ZoneInfo(zone) for zone in zones())
    for zone in ["Mars/Phobos", "../../etc/passwd", "localtime", ""]:
        form = AccountForm(RequestData([("timezone", zone)]), owner=None, stored=User())
        assert list(codes(form)) == ["timezone"]


def test_an_account_keeps_what_was_not_sent_and_its_name_can_be_emptied() -> None:
    stored = User(email="alice@example.com", name="Alice", timezone="UTC", language="en")
    form = AccountForm(
        RequestData([("name", ""), ("timezone", "Europe/Berlin")]), owner=stored, stored=stored
    )
    assert codes(form) == {}
    assert form.changes == {"name": "", "timezone": "Europe/Berlin"}


KEYS = {
    "the least": ({"name": "deploy"}, {"name": "deploy"}),
    "all": ({"name": "deploy", "scope": "read", "expires": "30"}, {"name": "deploy", "scope": "read", "expires": NOW + dt.timedelta(days=30)}),
    "never expires": ({"name": "deploy", "scope": "", "expires": ""}, {"name": "deploy"}),
}  # fmt: skip
NO_KEYS = {
    "no name": ({}, {"name": "required"}),
    "an empty name": ({"name": ""}, {"name": "required"}),
    "a long name": ({"name": "n" * 129}, {"name": "too_long"}),
    "an unknown scope": ({"name": "x", "scope": "admin"}, {"scope": "choice"}),
    "expired already": ({"name": "x", "expires": "0"}, {"expires": "range"}),
    "no number": ({"name": "x", "expires": "soon"}, {"expires": "integer"}),
    "beyond all calendars": ({"name": "x", "expires": "99999999"}, {"expires": "range"}),
}


@pytest.mark.parametrize(("sent", "changes"), KEYS.values(), ids=KEYS)
def test_a_key(sent: dict[str, str], changes: dict[str, object]) -> None:
    with time_machine.travel(NOW, tick=False):
        form = KeyForm(RequestData(sent.items()), owner=None)
        assert codes(form) == {}
        assert form.changes == changes


@pytest.mark.parametrize(("sent", "problems"), NO_KEYS.values(), ids=NO_KEYS)
def test_no_key(sent: dict[str, str], problems: dict[str, str]) -> None:
    assert codes(KeyForm(RequestData(sent.items()), owner=None)) == problems


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
