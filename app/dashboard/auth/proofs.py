"""Has whoever is at an open browser shown to be its owner, by the password or by a code?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from flask import Response, after_this_request

from app import sign_in_failures
from app.accounts import passwords
from app.accounts.hashing import GATE, Lane
from app.dashboard import pages, tries
from app.dashboard.guard import user
from app.dashboard.sessions import note_password, this_one
from app.dashboard.tries import Count
from app.errors import Waiting
from app.forms import ResourceForm

NOT_CURRENT = "This is not your current password."
WRONG_CODE = "This code is not right, or was used already. The app shows another one every 30 seconds."
STATUSES = {"too_many_tries": 429, "busy": 503}  # by the code of a problem


def ask_password(form: ResourceForm, name: str = "current_password") -> None:
    """Reject the field where it is another. Counted by session, which strangers' tries never touch."""
    counts = (Count(tries.BY_SESSION, str(this_one().id)),)
    with told_at(form, name), GATE.reserve(Lane.KNOWN):
        tries.count_try(counts)
        if passwords.check_password(user().password_hash, form[name].data):
            tries.reset_counts(counts)
            note_password()
        else:
            sign_in_failures.note_proof(user(), sign_in_failures.WRONG_PASSWORD)
            form.reject(name, NOT_CURRENT, "wrong_password")


def ask_code(form: ResourceForm, takes: Callable[[str], bool]) -> None:
    """Reject the field `code` where `takes` does not take it; neither is that tried too often."""
    counts = (Count(tries.CODE_BY_SESSION, str(this_one().id)),)
    with told_at(form, "code"), GATE.reserve(Lane.KNOWN):
        tries.count_try(counts)
        if takes(form["code"].data):
            tries.reset_counts(counts)
        else:
            sign_in_failures.note_proof(user(), sign_in_failures.WRONG_CODE)
            form.reject("code", WRONG_CODE, "wrong_code")


@contextmanager
def told_at(form: ResourceForm, name: str) -> Iterator[None]:
    """What can't be tried now is told beside the field, and when to come again in a header as well."""
    try:
        yield
    except Waiting as wait:
        form.reject(name, str(wait), wait.errors[0].code)
        seconds = str(wait.seconds)

        @after_this_request
        def come_again(response: Response) -> Response:
            response.headers["Retry-After"] = seconds
            return response


def status_of(form: ResourceForm) -> int:
    """Of a page that shows what is wrong with `form`. htmx shows it with 422 alone."""
    if pages.is_fragment():
        return 422
    return next((STATUSES[problem.code] for problem in form.problems if problem.code in STATUSES), 422)
