"""Checks of the password, a passkey or a two-factor code within an open session."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from flask import Response, after_this_request

from app.accounts import passwords, sign_in_failures
from app.accounts.forms import ProofForm
from app.accounts.hashing import GATE, HashPriority
from app.accounts.passkey_ceremonies import PROOF, PasskeyRefused
from app.core.clock import now
from app.core.errors import RetryLater
from app.dashboard.auth import passkey_requests, rate_limits
from app.dashboard.auth.access import signed_in_user
from app.dashboard.auth.rate_limits import TryLimit
from app.dashboard.auth.sessions import note_password, this_one
from app.dashboard.auth.single_sign_on import uses_password
from app.dashboard.shared import rendering
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import ResourceForm

RECENT = dt.timedelta(minutes=10)
SIGN_IN_AGAIN = _l("Sign in once more first. You last did so more than 10 minutes ago.")
NOT_CURRENT = _l("This is not your current password.")
WRONG_CODE = _l("This code is not right, or was used already. The app shows another one every 30 seconds.")
STATUSES = {"too_many_tries": 429, "busy": 503}  # by the code of a problem


def is_recent() -> bool:
    """Whether this session's user has proved within the last ten minutes who they are."""
    typed = this_one().password_datetime
    return typed is not None and typed > now() - RECENT


def validate_with_password(form: ProofForm, name: str = "current_password") -> None:
    """Validate a form that always asks for the password.

    A user who has none must have signed in within the last ten minutes instead, or use a passkey.
    """
    if not uses_password(signed_in_user()):
        form[name].ignore()
        if form.validate() and not is_recent():
            ask_password(form, name)
    elif form.validate():
        ask_password(form, name)


def ask_password(form: ProofForm, name: str = "current_password") -> None:
    """Reject the field if the password is wrong, or the passkey that came instead of it.

    Tries count by session, which strangers cannot use up.
    """
    counts = (TryLimit(rate_limits.BY_SESSION, str(this_one().id)),)
    if form.passkey.data:
        ask_passkey(form, name, counts)
        return
    if not uses_password(signed_in_user()):
        form.reject(name, SIGN_IN_AGAIN, "password_needed")
        return
    with rate_limit_errors_on(form, name), GATE.reserve(HashPriority.KNOWN), rate_limits.counted_try(counts):
        if passwords.check_password(signed_in_user().password_hash, form[name].data):
            rate_limits.reset_counts(counts)
            note_password()
        else:
            sign_in_failures.note_proof(signed_in_user(), sign_in_failures.WRONG_PASSWORD)
            form.reject(name, NOT_CURRENT, "wrong_password")


def ask_passkey(form: ProofForm, name: str, counts: Sequence[TryLimit]) -> None:
    """Reject the field if the passkey is refused. One that knows its user is worth the password."""
    user = signed_in_user()
    with rate_limit_errors_on(form, name), rate_limits.counted_try(counts):
        try:
            passkey_requests.accept(form.passkey.data, passkey_requests.ceremony(PROOF, user.id))
        except PasskeyRefused as refused:
            sign_in_failures.note_proof(user, refused.reason)
            form.reject(name, str(refused), "wrong_passkey")
        else:
            rate_limits.reset_counts(counts)
            note_password()


def ask_code(form: ResourceForm, takes: Callable[[str], bool]) -> None:
    """Reject the field `code` if `takes` returns False, or if there were too many tries."""
    counts = (TryLimit(rate_limits.CODE_BY_SESSION, str(this_one().id)),)
    with (
        rate_limit_errors_on(form, "code"),
        GATE.reserve(HashPriority.KNOWN),
        rate_limits.counted_try(counts),
    ):
        if takes(form["code"].data):
            rate_limits.reset_counts(counts)
        else:
            sign_in_failures.note_proof(signed_in_user(), sign_in_failures.WRONG_CODE)
            form.reject("code", WRONG_CODE, "wrong_code")


@contextmanager
def rate_limit_errors_on(form: ResourceForm, name: str) -> Iterator[None]:
    """Turn RetryLater into an error of the field, and set the header `Retry-After`."""
    try:
        yield
    except RetryLater as wait:
        form.reject(name, str(wait), wait.errors[0].code)
        seconds = str(wait.seconds)

        @after_this_request
        def come_again(response: Response) -> Response:
            response.headers["Retry-After"] = seconds
            return response


def status_of(form: ResourceForm) -> int:
    """Status of a page that shows what is wrong with `form`. For htmx it is 422: it shows no other."""
    if rendering.is_fragment():
        return 422
    return next((STATUSES[problem.code] for problem in form.problems if problem.code in STATUSES), 422)
