"""How often may somebody try a password, from one address and for one account?"""

from __future__ import annotations

from math import ceil

from flask import current_app, request

from app.accounts.services import written_email
from app.errors import FieldError, TooMany
from app.throttles import Throttles, at_most, network_of

BY_ADDRESS = at_most(30, minutes=10, name="sign-in-address")
BY_ACCOUNT = at_most(15, minutes=10, name="sign-in-account")


def count_try(email: str) -> None:
    """Count this try, before it is made: as many at once as there may be in a row. Raises TooMany."""
    by_address = throttles().take(BY_ADDRESS, network_of(request.remote_addr or ""))
    if seconds := by_address or throttles().take(BY_ACCOUNT, written_email(email)):
        minutes = ceil(seconds / 60)
        wait = "a minute" if minutes == 1 else f"{minutes} minutes"
        text = f"There were too many tries. Wait {wait}, then try again."
        raise TooMany(seconds, FieldError(text, "too_many_tries"))


def forgive(email: str) -> None:
    """It was right. The address is not forgiven: an account of one's own must not buy guesses at others'."""
    throttles().forgive(BY_ACCOUNT, written_email(email))


def throttles() -> Throttles:
    found: Throttles = current_app.extensions["throttles"]
    return found
