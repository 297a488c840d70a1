"""Reports failed sign-ins of this request to the audit log."""

from __future__ import annotations

from app.accounts import services
from app.accounts.models import User
from app.core.actor import origin
from app.web.application import failure_log

# reasons, as the audit log holds them
WRONG_PASSWORD, UNKNOWN_ACCOUNT, WRONG_CODE = "wrong_password", "unknown_account", "wrong_code"
TOO_MANY_TRIES, SHUT_OUT, WRONG_KEY = "too_many_tries", "disabled_or_deleted", "wrong_key"


def note_password(email: str, reason: str = WRONG_PASSWORD) -> None:
    """Notes a failed sign-in with this address.

    An address without an account is not stored: a password may have been typed in its place.
    """
    user = services.find_user(email)
    note("sign_in.failed", user, UNKNOWN_ACCOUNT if user is None and reason == WRONG_PASSWORD else reason)


def note_code(user: User, reason: str = WRONG_CODE) -> None:
    """Notes a sign-in with the right password whose second step failed."""
    note("sign_in.failed", user, reason)


def note_passkey(user: User | None, reason: str) -> None:
    """Notes a sign-in with a passkey that was refused. Without `user` nobody has this passkey."""
    note("sign_in.failed", user, reason)


def note_proof(user: User, reason: str) -> None:
    """Notes a failed reauthentication in an open session."""
    note("proof.failed", user, reason)


def note_key() -> None:
    """Notes a request with an API key that is unknown, revoked or expired."""
    note("api_key.refused", None, WRONG_KEY)


def note(action: str, user: User | None, reason: str) -> None:
    failure_log().note(action, user, origin().network, reason)
