"""Asks destinations how they do: few at once, of one owner fewer, and of one server one.

Each check stands alone: whatever one destination answers, or does to us, the others' results are written down
as they come.
"""

from __future__ import annotations

from sqlalchemy.orm import Session

from app.config import Settings
from app.error_boundary import ErrorBoundary
from app.jobs.fair_pool import run_fairly
from app.links import checks
from app.links.checks import Check, Result

MAX_CHECKS = 400
SECONDS = 30.0  # of a minute, to begin in; what is left is asked in the next

# what fails by a fault of ours is asked again at the pace of all checks
errors = ErrorBoundary(
    "destination checks",
    first_seconds=checks.USUAL.total_seconds(),
    max_seconds=checks.USUAL.total_seconds(),
)


def check_destinations(session: Session, settings: Settings) -> None:
    """One round: what is due by now. No transaction is open while servers are asked."""
    with errors.attempt("the list of links"):
        checks.enrol(session)
    session.rollback()
    due = checks.due(session, MAX_CHECKS, without=errors.backed_off(int))

    def ask(check: Check) -> Result:
        return checks.ask(check, settings.allow_private_networks)

    for check, future in run_fairly(due, ask, seconds=SECONDS):
        with errors.attempt(check.id):
            checks.write_down(session, [future.result()])
        session.rollback()
