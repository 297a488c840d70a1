"""Which answers can a visitor get?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple


class Step(NamedTuple):
    """One question that was asked on the way to an answer: what was compared, and did it apply?"""

    step: str
    matched: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An answer as a value. `location` is ready for a header; `destination` is what statistics call it.

    `counts` says that a person's GET with this answer is a visit. `steps` is how it came about.
    """

    outcome: str
    status: int
    location: str | None = None
    destination: str = ""
    counts: bool = False
    steps: list[Step] = field(default_factory=list)


def redirect(status: int, location: str, destination: str) -> Outcome:
    """To where the owner wants people: the visit counts."""
    return Outcome(outcome="redirect", status=status, location=location, destination=destination, counts=True)


def not_found() -> Outcome:
    return Outcome(outcome="not_found", status=404)


def not_yet() -> Outcome:
    """Before the link's start. Neither the date nor the destination is told."""
    return Outcome(outcome="not_yet", status=404)


def expired(location: str | None) -> Outcome:
    """After the end: to the owner's other address, if he gave one. Not a visit of the link."""
    return Outcome(outcome="expired", status=302 if location else 410, location=location)


def unavailable() -> Outcome:
    """The link asks for something that this version can't do yet; its destination stays unknown."""
    return Outcome(outcome="unavailable", status=503)
