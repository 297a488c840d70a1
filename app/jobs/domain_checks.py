"""Asks once a day whether owners still hold the hosts that they have shown to be theirs."""

from __future__ import annotations

from typing import NamedTuple

from sqlalchemy.orm import Session

from app import domain_check
from app.config import Settings
from app.domains import lapses
from app.domains.proofs import Proofs, proofs
from app.error_boundary import ErrorBoundary
from app.jobs.fair_pool import run_fairly

MAX_PROOFS = 200
SECONDS = 240.0  # of five minutes, to begin in; the rest is asked in the next

errors = ErrorBoundary("proofs of domains", first_seconds=3600.0, max_seconds=lapses.EVERY.total_seconds())


class ProofCheck(NamedTuple):
    """A domain whose proof is looked for."""

    id: int
    user_id: int
    server: str
    proofs: Proofs


def check_proofs(session: Session, settings: Settings) -> None:
    """One round. No transaction is open while others are asked."""

    def ask(check: ProofCheck) -> bool | None:
        return domain_check.is_shown(check.proofs, settings.allow_private_networks)

    for check, future in run_fairly(due(session), ask, seconds=SECONDS):
        with errors.attempt(check.id):
            lapses.note(session, check.id, check.proofs.file_content, is_there=future.result())
        session.rollback()


def due(session: Session) -> list[ProofCheck]:
    found = []
    for domain in lapses.due(session, MAX_PROOFS, without=errors.backed_off(int)):
        with errors.attempt(domain.id):
            found.append(ProofCheck(domain.id, domain.user_id, domain.host, proofs(domain)))
    session.rollback()
    return found
