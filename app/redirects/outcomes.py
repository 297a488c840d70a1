"""Which answers can a visitor get?"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

from app.visits.apps import Opening


class Step(NamedTuple):
    """One question that was asked on the way to an answer: what was compared, and did it apply?"""

    step: str
    matched: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An answer as a value. `location` is ready for a header; `destination` is what statistics call it.

    `counts` says that a person's GET with this answer is a visit. `steps` is how it came about. Only with a
    status of 3xx is `location` sent in a header; else it is where the page leads.
    """

    outcome: str
    status: int
    location: str | None = None
    destination: str = ""
    counts: bool = False
    # the link's pixels fire on the page, or (`consent`) would if the visitor agreed
    fires: bool = False
    # how the app is opened
    opening: Opening | None = None
    steps: list[Step] = field(default_factory=list)


def redirect(status: int, location: str, destination: str) -> Outcome:
    """To where the owner wants people: the visit counts."""
    return Outcome(outcome="redirect", status=status, location=location, destination=destination, counts=True)


def page(
    outcome: str, location: str, destination: str, *, fires: bool = False, opening: Opening | None = None
) -> Outcome:
    """A page of ours on the way to where the owner wants people, or around it: the visit counts."""
    return Outcome(
        outcome=outcome,
        status=200,
        location=location,
        destination=destination,
        counts=True,
        fires=fires,
        opening=opening,
    )


def not_found() -> Outcome:
    return Outcome(outcome="not_found", status=404)


def not_yet() -> Outcome:
    """Before the link's start. Neither the date nor the destination is told."""
    return Outcome(outcome="not_yet", status=404)


def expired(location: str | None) -> Outcome:
    """After the end: to the owner's other address, if he gave one. Not a visit of the link."""
    return Outcome(outcome="expired", status=302 if location else 410, location=location)


def limit(location: str | None) -> Outcome:
    """All clicks are used up: as after the end."""
    return Outcome(outcome="limit", status=302 if location else 410, location=location)


def password() -> Outcome:
    """A page that asks for the password. Like the next, it tells nothing of the destination."""
    return Outcome(outcome="password", status=200)


def warning() -> Outcome:
    """A page that warns of what comes, until the visitor goes on."""
    return Outcome(outcome="warning", status=200)


def preview(destination: str = "") -> Outcome:
    """A page about the link that does not say where it leads. A bot that gets it is recorded as one."""
    return Outcome(outcome="preview", status=200, destination=destination, counts=True)


def unavailable() -> Outcome:
    """The link asks for something that this version can't do yet; its destination stays unknown."""
    return Outcome(outcome="unavailable", status=503)
