"""Checks once a day whether the proof of ownership of each verified domain is still there."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy.orm import Session

from app.core.config import Settings
from app.core.error_boundary import ErrorBoundary
from app.domains import lapses, verification
from app.domains.proofs import Proofs, proofs
from app.jobs.fair_pool import run_fairly

MAX_PROOFS = 200
SECONDS = 240.0  # of the five minutes of a round, to begin checks in; the rest is checked in the next

errors = ErrorBoundary("proofs of domains", first_seconds=3600.0, max_seconds=lapses.EVERY.total_seconds())


class ProofCheck(NamedTuple):
    """A domain whose proof is looked for."""

    id: int
    workspace_id: int
    server: str
    proofs: Proofs


def check_proofs(session: Session, settings: Settings) -> None:
    """Runs one round of checks. No transaction is open while servers are asked."""

    def ask(check: ProofCheck) -> bool | None:
        return verification.is_shown(check.proofs, settings.allow_private_networks)

    for check, future in run_fairly(due(session), ask, seconds=SECONDS):
        with errors.attempt(check.id):
            lapses.note(session, check.id, check.proofs.file_content, is_there=future.result())
        session.rollback()


def due(session: Session) -> list[ProofCheck]:
    found = []
    for domain in lapses.due(session, MAX_PROOFS, without=errors.backed_off(int)):
        with errors.attempt(domain.id):
            found.append(ProofCheck(domain.id, domain.workspace_id, domain.host, proofs(domain)))
    session.rollback()
    return found
