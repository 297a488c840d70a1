"""Forms of accounts and keys: which input is valid, and what it becomes."""

from __future__ import annotations

import datetime as dt
from zoneinfo import ZoneInfo

import pytest
import time_machine

from app.accounts.forms import AccountForm, KeyForm, NewUserForm, PasswordForm, zones
from app.accounts.models import User
from app.input.data import RequestData

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
