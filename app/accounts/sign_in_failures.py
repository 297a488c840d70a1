"""Reports failed sign-ins of this request to the audit log."""

from __future__ import annotations

from flask import Flask, current_app

from app.accounts import services
from app.accounts.models import User
from app.acting import origin
from app.audit.failures import FailureLog
from app.extensions import db

EXTENSION = "audit_failures"

# reasons, as the audit log holds them
WRONG_PASSWORD, UNKNOWN_ACCOUNT, WRONG_CODE = "wrong_password", "unknown_account", "wrong_code"
TOO_MANY_TRIES, SHUT_OUT, WRONG_KEY = "too_many_tries", "disabled_or_deleted", "wrong_key"


def init_app(app: Flask) -> None:
    with app.app_context():
        app.extensions[EXTENSION] = FailureLog(db.engine)


def note_password(email: str, reason: str = WRONG_PASSWORD) -> None:
    """A sign-in with this address failed. What was typed for an address that nobody has is not kept: it may
    be a password."""
    user = services.find_user(email)
    note("sign_in.failed", user, UNKNOWN_ACCOUNT if user is None and reason == WRONG_PASSWORD else reason)


def note_code(user: User, reason: str = WRONG_CODE) -> None:
    """The password was right, and the second step failed."""
    note("sign_in.failed", user, reason)


def note_proof(user: User, reason: str) -> None:
    """Somebody in an open session could not show to be its owner."""
    note("proof.failed", user, reason)


def note_key() -> None:
    """An API key was sent that is unknown, revoked or expired."""
    note("api_key.refused", None, WRONG_KEY)


def note(action: str, user: User | None, reason: str) -> None:
    failures: FailureLog = current_app.extensions[EXTENSION]
    failures.note(action, user, origin().network, reason)
