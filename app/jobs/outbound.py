"""Jobs that ask other servers: destinations, proofs of domains, and the source of the geolocation file."""

from __future__ import annotations

import logging
from typing import NamedTuple

from sqlalchemy.orm import Session

from app.core.clock import now
from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.domains import verification
from app.domains.verification import Proofs, proofs
from app.geo import update as geo_update
from app.geo.lookup import database_path
from app.jobs.fair_pool import run_fairly
from app.links import destination_checks
from app.links.destination_checks import Check, Result

MAX_CHECKS = 400
# checks begin within so many seconds of a minute; the rest is checked in the next. A check takes twice
# `SECONDS` of app/net/http.py at most, so a round is over when the next is due: servers that hang must not
# halve the pace of all others
CHECK_SECONDS = 25.0
MAX_PROOFS = 200
PROOF_SECONDS = 240.0  # of the five minutes of a round, to begin checks in; the rest is checked in the next

log = logging.getLogger(__name__)
# a check that fails by a bug of ours is repeated at the pace of all checks
check_errors = ErrorBoundary(
    "destination checks",
    first_seconds=destination_checks.USUAL.total_seconds(),
    max_seconds=destination_checks.USUAL.total_seconds(),
)
proof_errors = ErrorBoundary(
    "proofs of domains", first_seconds=3600.0, max_seconds=verification.EVERY.total_seconds()
)


def check_destinations(session: Session, settings: Settings) -> None:
    """Checks whether destinations answer: those that are due by now.

    No transaction is open while servers are asked. Checks are isolated from each other: whatever one
    destination does, the results of the others are stored as they come.
    """
    with check_errors.attempt("the list of links"):
        destination_checks.enrol(session)
    session.rollback()
    due = destination_checks.due(session, MAX_CHECKS, without=check_errors.backed_off(int))

    def ask(check: Check) -> Result:
        return destination_checks.ask(check, settings.allow_private_networks)

    for check, future in run_fairly(due, ask, seconds=CHECK_SECONDS):
        with check_errors.attempt(check.id):
            destination_checks.write_down(session, [future.result()])
        session.rollback()


class ProofCheck(NamedTuple):
    """A domain whose proof is looked for."""

    id: int
    workspace_id: int
    server: str
    proofs: Proofs


def check_proofs(session: Session, settings: Settings) -> None:
    """Checks whether the proof of each verified domain is still there, once a day.

    No transaction is open while servers are asked.
    """

    def ask(check: ProofCheck) -> bool | None:
        return verification.is_shown(check.proofs, settings.allow_private_networks)

    for check, future in run_fairly(due_proofs(session), ask, seconds=PROOF_SECONDS):
        with proof_errors.attempt(check.id):
            verification.note(session, check.id, check.proofs.file_content, is_there=future.result())
        session.rollback()


def due_proofs(session: Session) -> list[ProofCheck]:
    found = []
    for domain in verification.due(session, MAX_PROOFS, without=proof_errors.backed_off(int)):
        with proof_errors.attempt(domain.id):
            found.append(ProofCheck(domain.id, domain.workspace_id, domain.host, proofs(domain)))
    session.rollback()
    return found


def refresh_places(_session: Session, settings: Settings) -> None:
    """Updates the file once a week, and the next day where that failed. The old file serves until then."""
    path = database_path(settings.geoip_db, settings.data_dir)
    source = geo_update.stale_source(path, now())
    if source is None:
        return
    try:
        status = geo_update.update(
            path,
            source.url or settings.geoip_url,
            today=now().date(),
            allowed=settings.allow_private_networks,
        )
        log.info("The geolocation database was updated: %s", status.kind)
    except (geo_update.NotUpdated, OSError) as error:
        log.warning("The geolocation database was not updated: %s", error)
