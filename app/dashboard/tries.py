"""How often may somebody try a password or a code, from one address and for one account?"""

from __future__ import annotations

from math import ceil

from flask import current_app, request
from limits import RateLimitItem

from app.accounts.services import written_email
from app.errors import FieldError, TooMany
from app.throttles import Throttles, at_most, network_of

BY_ADDRESS = at_most(30, minutes=10, name="sign-in-address")
BY_ACCOUNT = at_most(15, minutes=10, name="sign-in-account")

CODE = at_most(10, minutes=10, name="sign-in-code")
FORGOTTEN_BY_ADDRESS = at_most(20, minutes=60, name="forgotten-address")
FORGOTTEN = at_most(3, minutes=60, name="forgotten-account")


def count_try(email: str) -> None:
    """Count this try, before it is made: as many at once as there may be in a row. Raises TooMany."""
    count(BY_ADDRESS, BY_ACCOUNT, written_email(email))


def count_code(user_id: int) -> None:
    """The same for a code. Raises TooMany."""
    count(BY_ADDRESS, CODE, str(user_id))


def count_forgotten(email: str) -> None:
    """The same for mails that somebody has sent to an address. Raises TooMany."""
    count(FORGOTTEN_BY_ADDRESS, FORGOTTEN, written_email(email))


def count(by_address: RateLimitItem, by_account: RateLimitItem, account: str) -> None:
    seconds = throttles().take(by_address, network_of(request.remote_addr or ""))
    if seconds := seconds or throttles().take(by_account, account):
        minutes = ceil(seconds / 60)
        wait = "a minute" if minutes == 1 else f"{minutes} minutes"
        text = f"There were too many tries. Wait {wait}, then try again."
        raise TooMany(seconds, FieldError(text, "too_many_tries"))


def forgive(email: str) -> None:
    """It was right. The address is not forgiven: an account of one's own must not buy guesses at others'."""
    throttles().forgive(BY_ACCOUNT, written_email(email))


def forgive_code(user_id: int) -> None:
    throttles().forgive(CODE, str(user_id))


def throttles() -> Throttles:
    found: Throttles = current_app.extensions["throttles"]
    return found
