"""Addresses in what users typed: no mail to somebody who never asked for one carries them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from flask import Flask
from sqlalchemy import select
from sqlalchemy.orm import Session

from app.accounts.models import User, Workspace
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.core.extensions import db
from app.notifications import system_email
from app.notifications.addresses import without_addresses
from app.notifications.mail import compose_email
from app.notifications.models import SystemEmail
from app.notifications.security_email import SecurityMail
from tests.clients import Api

pytestmark = pytest.mark.settings(SMTP_URL="smtp://127.0.0.1:2525", BASE_URL="https://go.example")

ADDRESSES = [
    "evil.example/x",
    "http://evil.example/x",
    "hxxps://localhost/x",
    "http:\\\\evil",
    "(evil.example)",
    "win@evil.example",
    "192.0.2.7/x",
    "evil\u3002example",
    "evil\u200b.exa\u00admple",
    "\uff45vil.ex\uff41mple",
    "b\u00fccher.example",
    "\u4f8b\u3048.\u30c6\u30b9\u30c8",
    "\u0909\u0926.\u092d\u093e\u0930\u0924",
    "evil.xn--p1ai",
    "\U0001f4a9.la",
]


@pytest.mark.parametrize("address", ADDRESSES)
def test_an_address_is_left_out(address: str) -> None:
    assert without_addresses(f"Claim it at {address} now") == "Claim it at … now"


def only_mail(session: Session) -> tuple[str, str]:
    """The subject of the one mail, and all that its reader sees."""
    [row] = session.scalars(select(SystemEmail)).all()
    mail = compose_email(system_email.message_of(row, "id"), "Waypost <way@go.example>", row.email)
    bodies = [part.get_content() for part in mail.walk() if part.get_content_maintype() == "text"]
    return mail["Subject"], f"{mail['From']} {mail['Subject']} {' '.join(bodies)}"


@pytest.mark.parametrize(
    ("who", "workspace", "subject", "says"),
    [
        ("Win at evil.example/x", "Prize: evil.example/x", "Win at … invites you to a workspace", "Prize: …"),
        ("evil.example", "win@evil.example", "You are invited to a workspace", "to see the invitation"),
        ("", "Marketing", "You are invited to a workspace", "to work in Marketing"),
        ("Alice", "Marketing", "Alice invites you to a workspace", "to work in Marketing"),
    ],
)
def test_an_invitation_carries_no_address(
    make_api: Callable[..., Api],
    alice: User,
    session: Session,
    who: str,
    workspace: str,
    subject: str,
    says: str,
) -> None:
    alice.name, alice.email = who, "claim@evil.example"
    session.get_one(Workspace, access_of(alice).workspace_id).name = workspace
    session.commit()
    api = make_api(alice, changes_members=True)
    sent = {"email": "stranger@example.com", "role": "viewer"}
    assert api.post("/workspace/members", sent).status_code == 201
    for row in session.scalars(select(SystemEmail).where(SystemEmail.email != "stranger@example.com")):
        session.delete(row)  # what the owner is told
    session.commit()
    found, seen = only_mail(session)
    assert found == subject
    assert says in seen
    assert "evil" not in seen


def typed_into_a_passkey(mail: SecurityMail, alice: User) -> None:
    mail.passkey_added(alice, "Win at evil.example/x")


def typed_into_a_new_address(mail: SecurityMail, alice: User) -> None:
    old, alice.email = alice.email, "claim@evil.example"
    mail.email_is_changed(alice, old)


def typed_into_the_name_of_a_file(mail: SecurityMail, alice: User) -> None:
    mail.import_failed(alice, 1, "evil.example/x", 0)


WAYS = [typed_into_a_passkey, typed_into_a_new_address, typed_into_the_name_of_a_file]


@pytest.mark.parametrize("is_verified", [True, False])
@pytest.mark.parametrize("write", WAYS)
def test_only_a_verified_address_reads_what_was_typed(
    write: Callable[[SecurityMail, User], None],
    is_verified: bool,
    app: Flask,
    settings: Settings,
    alice: User,
    session: Session,
) -> None:
    alice.verified_email = alice.email if is_verified else None
    write(SecurityMail(db.session, settings), alice)
    session.commit()
    _, seen = only_mail(session)
    assert ("evil" in seen) is is_verified


def test_one_account_writes_to_few_addresses_that_are_not_its_own(
    app: Flask, settings: Settings, alice: User, session: Session
) -> None:
    """An account can take any address that nobody has, and leave it: each time that one is told."""
    alice.verified_email, mail = None, SecurityMail(db.session, settings)
    for number in range(system_email.MAX_OF_USER + 5):
        old, alice.email = alice.email, f"stranger{number}@example.com"
        mail.email_is_changed(alice, old)
    session.commit()
    assert len(session.scalars(select(SystemEmail.id)).all()) == system_email.MAX_OF_USER
    alice.verified_email = alice.email
    mail.passkey_added(alice, "mine")
    session.commit()
    newest = session.scalars(select(SystemEmail.email).order_by(SystemEmail.id.desc())).first()
    assert newest == alice.email, "its own goes on to be told"
