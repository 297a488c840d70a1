"""User administration: list, invitations, disabling and deleting. For others the pages are 404."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest
import sqlalchemy as sa
from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts import invitations, standing
from app.accounts.deletion import leaving
from app.accounts.models import Invitation, User, UserSession
from app.core.clock import now
from app.core.extensions import db
from tests.dashboard.conftest import HTMX, Desk
from tests.factories import PASSWORD
from tests.threads import at_once
from tests.writes import write

FOR_ADMINS = re.compile(r"dashboard\.(users|invitations|instance)")


def signed_in(app: Flask, user: User) -> Desk:
    return Desk(app.test_client(), user.email).sign_in()


def admins_rules(app: Flask, method: str) -> Iterator[str]:
    for rule in app.url_map.iter_rules():
        if FOR_ADMINS.match(rule.endpoint) and method in (rule.methods or ()):
            yield re.sub("<[^>]*>", "1", rule.rule.replace("<action>", "disable"))


def test_for_others_these_pages_are_not_there(app: Flask, desk: Desk, alice: User, bob: User) -> None:
    other = signed_in(app, bob)
    missing = other.get("/nothing/like/it")
    found = {method: sorted(admins_rules(app, method)) for method in ("GET", "POST")}
    assert all(len(paths) > 2 for paths in found.values())
    for path in found["GET"]:
        answer = other.client.get(path)
        assert answer.status_code == 404, path
        assert answer.text == missing.text.replace("/dashboard/nothing/like/it", path), path
    for path in found["POST"]:
        assert other.post(path.removeprefix("/dashboard"), {}).status_code == 404, path
    assert "Users" not in other.get("/links/").text
    assert "/dashboard/users/" in desk.get("/links/").text


def test_the_list(
    app: Flask, desk: Desk, session: Session, bob: User, factory: Any, make_user: Any, make_key: Any
) -> None:
    bob.name = "Bob the Builder"
    factory.link(bob)
    make_key(bob, last_datetime=now())
    write(leaving.leave, make_user("carol@example.com"))
    write(standing.disable, make_user("dave@example.com"))
    page = desk.get("/users/").text
    for text in (
        "Bob the Builder",
        "1 link<",
        "Last seen",
        "Deleted for good after",
        "Disabled",
        "You",
        "Admin",
    ):
        assert text in page, text
    erin = make_user("erin@example.com")
    assert desk.get("/users/?search=erin").text.count("Not seen recently") == 1
    signed_in(app, erin)
    assert desk.get("/users/?search=erin").text.count("Last seen") == 1
    session.execute(sa.delete(UserSession).where(UserSession.user_id == erin.id))
    session.commit()
    assert desk.get("/users/?search=erin").text.count("Last seen") == 1
    found = desk.get("/users/?search=BUILD", headers=HTMX).text
    assert "bob@example.com" in found
    assert "carol@example.com" not in found
    assert "No such user" in desk.get("/users/?search=100%25").text
    bob.name = unicodedata.normalize("NFD", "Béla")
    session.commit()
    assert "bob@example.com" in desk.get("/users/", query_string={"search": "BÉLA"}).text
    for page_number in ("0", "-1", "x", "9" * 30, "٣"):
        assert desk.get(f"/users/?page={page_number}").status_code == 200


@pytest.mark.parametrize(
    ("action", "state", "undo"),
    [("disable", "disabled", "enable"), ("delete", "deleted", "restore")],
)
def test_out_and_in_again(
    desk: Desk, session: Session, bob: User, action: str, state: str, undo: str
) -> None:
    assert f"{action.title()} this user?" in desk.get(f"/users/2/{action}").text
    done = desk.post(f"/users/2/{action}", {}, headers=HTMX)
    assert done.status_code == 200
    assert f"/dashboard/users/2/{undo}" in done.headers["HX-Trigger"]
    session.refresh(bob)
    assert standing.state_of(bob) == state
    assert desk.post(f"/users/2/{undo}", {}).status_code == 303
    session.refresh(bob)
    assert standing.state_of(bob) == "active"


def test_rights_are_given_and_taken(desk: Desk, session: Session, alice: User, bob: User) -> None:
    last = desk.post("/users/1/not-admin", {})
    assert (last.status_code, "This is the last admin" in last.text) == (422, True)
    assert desk.post("/users/2/admin", {}).status_code == 303
    session.refresh(bob)
    assert bob.is_admin
    own = desk.post("/users/1/not-admin", {}, headers=HTMX)
    assert own.headers["HX-Redirect"] == "/dashboard/"
    assert desk.get("/users/").status_code == 404


@pytest.mark.parametrize("action", ["disable", "delete"])
def test_nobody_shuts_oneself_out_by_mistake(
    desk: Desk, session: Session, alice: User, bob: User, action: str
) -> None:
    write(standing.make_admin, bob)
    assert desk.post(f"/users/1/{action}", {}).status_code == 422
    session.refresh(alice)
    assert alice.is_active


# --- invitations


def invited(desk: Desk, **values: Any) -> str:
    """The address of an invitation, without the host."""
    page = desk.post("/users/invitations/new", {"email": "", "is_admin": "0", **values}).text
    found = re.search(r"http://localhost(/setup/invitation\?token=[\w-]+)", page)
    assert found, page
    return found[1]


def sign_up(
    app: Flask, address: str, email: str, headers: Mapping[str, str] | None = None, **values: Any
) -> Any:
    client = app.test_client()
    page = client.get("/login")
    found = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
    token = found[1] if found else ""
    data = {"csrf_token": token, "token": address.rpartition("=")[2], "email": email, "password": PASSWORD}
    return client, client.post("/setup/invitation", data={**data, **values}, headers=headers)


@pytest.mark.parametrize("is_admin", [False, True])
def test_an_invitation_makes_one_account(app: Flask, desk: Desk, session: Session, is_admin: bool) -> None:
    address = invited(desk, email="New@example.com", is_admin="1" if is_admin else "0")
    assert "Invited" in desk.get("/users/").text
    assert 'value="new@example.com"' in app.test_client().get(address).text
    client, made = sign_up(app, address, "Other@example.com", name="Nina")
    assert (made.status_code, made.location) == (303, "/dashboard/")
    assert client.get("/dashboard/links/").status_code == 200
    user = session.scalars(select(User).where(User.email == "other@example.com")).one()
    assert (user.name, user.is_admin) == ("Nina", is_admin)
    assert "Invited" not in desk.get("/users/").text
    again, refused = sign_up(app, address, "third@example.com")
    assert (refused.status_code, again.get(address).status_code) == (410, 410)
    assert "was used" in again.get(address).text


@pytest.mark.parametrize(
    ("zone", "wished", "stored"),
    [
        ("Europe/Berlin", "de-AT,en;q=0.5", ("Europe/Berlin", "de")),
        ("Asia/Tokyo", "ja,en;q=0.5", ("Asia/Tokyo", "en")),
        ("Mars/Olympus", "de", ("UTC", "de")),
        ("", "", ("UTC", "en")),
        ("x" * 650, "en", ("UTC", "en")),
    ],
    ids=["both known", "no such language", "no such zone", "nothing known", "too long"],
)
def test_a_new_account_has_the_browsers_language_and_time_zone(
    app: Flask, desk: Desk, session: Session, zone: str, wished: str, stored: tuple[str, str]
) -> None:
    address = invited(desk)
    headers = {"Accept-Language": wished}
    _, made = sign_up(app, address, "new@example.com", headers=headers, timezone=zone)
    user = session.scalars(select(User).where(User.email == "new@example.com")).one()
    assert (user.timezone, user.language, made.status_code) == (*stored, 303)


def ended(session: Session, how: str, alice: User) -> None:
    row = session.scalars(select(Invitation)).one()
    if how == "too old":
        row.expires_datetime = now()
    elif how == "withdrawn":
        row.revoked_datetime = now()
    elif how == "of no admin":
        alice.is_admin = False
    session.commit()


@pytest.mark.parametrize("how", ["too old", "withdrawn", "of no admin"])
def test_what_has_ended_says_so(app: Flask, desk: Desk, session: Session, alice: User, how: str) -> None:
    address = invited(desk)
    ended(session, how, alice)
    answer = app.test_client().get(address)
    assert answer.status_code == 410
    assert ("withdrawn" if how == "of no admin" else how) in answer.text
    assert "is not an invitation" in app.test_client().get("/setup/invitation?token=x").text
    assert app.test_client().get("/setup/invitation").status_code == 404


def test_what_is_wrong_is_said_and_the_invitation_stays(app: Flask, desk: Desk, bob: User) -> None:
    address = invited(desk)
    _, weak = sign_up(app, address, "new@example.com", password="short")
    assert weak.status_code == 422
    _, taken = sign_up(app, address, bob.email)
    assert (taken.status_code, "already" in taken.text) == (422, True)
    _, made = sign_up(app, address, "new@example.com")
    assert made.status_code == 303
    bad = desk.post("/users/invitations/new", {"email": bob.email, "is_admin": "0"})
    assert (bad.status_code, "already" in bad.text) == (422, True)


@pytest.mark.databases
def test_used_many_times_at_once_it_makes_one_account(
    app: Flask, session: Session, alice: User, make_user: Callable[..., User]
) -> None:
    _, token = write(invitations.invite, alice)

    def use(number: int) -> str:
        with app.app_context():
            try:
                user = write(invitations.accept, token, f"new{number}@example.com", "hash")
            except invitations.InvitationClosed as over:
                db.session.rollback()
                return over.state
            return user.email

    outcomes = at_once(use, range(5))
    assert sorted(outcomes)[1:] == ["used"] * 4
    found = session.scalars(select(User.email).where(User.id != alice.id)).all()
    assert found == sorted(outcomes)[:1]


# --- leaving


def test_leaving_asks_for_password_and_address(
    app: Flask, desk: Desk, session: Session, alice: User, bob: User
) -> None:
    mine = signed_in(app, bob)
    assert "Delete your account" in mine.get("/account/").text
    for values in (
        {"own_email": bob.email, "own_password": "not this one"},
        {"own_email": alice.email, "own_password": PASSWORD},
        {"own_email": "", "own_password": ""},
    ):
        assert mine.post("/account/delete", values).status_code == 422
    session.refresh(bob)
    assert bob.is_active
    values = {"own_email": "Bob@example.com ", "own_password": PASSWORD}
    done = mine.post("/account/delete", values)
    assert (done.status_code, done.location) == (303, "/login")
    session.refresh(bob)
    assert bob.deleted_datetime is not None
    assert mine.get("/links/").status_code == 302
