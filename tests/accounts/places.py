"""How does a test take all places where passwords are hashed?"""

from __future__ import annotations

from contextlib import ExitStack

from app.accounts.hashing import GATE, Lane


def fill(taken: ExitStack, lane: Lane) -> None:
    """Take every place of this lane until `taken` is closed, as other requests would."""
    for _ in range(lane.places):
        GATE.take_place(lane)
        taken.callback(GATE.leave_place, lane)
