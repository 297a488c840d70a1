"""Do owners still hold the hosts that they have shown to be theirs? Asked once a day, of each."""

from __future__ import annotations

import time

from sqlalchemy.orm import Session

from app import domain_check
from app.config import Settings
from app.domains import lapses
from app.domains.proofs import proofs

MOST = 200
SECONDS = 240.0  # of five minutes; the rest is asked in the next


def check_proofs(session: Session, settings: Settings) -> None:
    """One round. No transaction is open while others are asked."""
    until = time.monotonic() + SECONDS
    wanted = {domain.id: proofs(domain) for domain in lapses.due(session, MOST)}
    session.rollback()
    for domain_id, proof in wanted.items():
        if time.monotonic() > until:
            return
        is_there = domain_check.is_shown(proof, settings.allow_private_networks)
        lapses.note(session, domain_id, proof.file_content, is_there=is_there)
