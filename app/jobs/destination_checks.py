"""Checks whether destinations answer: few at once, fewer of one owner, and one at a time of one server.

Checks are isolated from each other: whatever one destination does, the results of the others are stored as
they come.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.jobs.fair_pool import run_fairly
from app.links import destination_checks
from app.links.destination_checks import Check, Result

MAX_CHECKS = 400
# checks begin within so many seconds of a minute; the rest is checked in the next. A check takes twice
# `SECONDS` of app/net/http.py at most, so a round is over when the next is due: servers that hang must not
# halve the pace of all others
SECONDS = 25.0

# a check that fails by a bug of ours is repeated at the pace of all checks
errors = ErrorBoundary(
    "destination checks",
    first_seconds=destination_checks.USUAL.total_seconds(),
    max_seconds=destination_checks.USUAL.total_seconds(),
)


def check_destinations(session: Session, settings: Settings) -> None:
    """Runs the checks that are due by now. No transaction is open while servers are asked."""
    with errors.attempt("the list of links"):
        destination_checks.enrol(session)
    session.rollback()
    due = destination_checks.due(session, MAX_CHECKS, without=errors.backed_off(int))

    def ask(check: Check) -> Result:
        return destination_checks.ask(check, settings.allow_private_networks)

    for check, future in run_fairly(due, ask, seconds=SECONDS):
        with errors.attempt(check.id):
            destination_checks.write_down(session, [future.result()])
        session.rollback()
