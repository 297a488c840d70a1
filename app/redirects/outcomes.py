"""Outcomes: the answers that a visitor can get, as values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from http import HTTPStatus
from typing import NamedTuple

from app.redirects.apps import Opening


class Step(NamedTuple):
    """One step on the way to an answer: whether it applied, and what was compared."""

    step: str
    matched: bool
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """An answer as a value. `location` is ready for a header; `destination` is its form for statistics.

    `counts`: a person's GET with this answer is a visit. `steps` explains the answer. `location` is sent in a
    header only with a status of 3xx; otherwise the page opens it.
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
    """A redirect to the destination. The visit counts."""
    return Outcome(outcome="redirect", status=status, location=location, destination=destination, counts=True)


def page_outcome(
    outcome: str, location: str, destination: str, *, fires: bool = False, opening: Opening | None = None
) -> Outcome:
    """An interstitial before the destination, or a frame around it. The visit counts."""
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
    """Before the link's start. The page shows neither the date nor the destination."""
    return Outcome(outcome="not_yet", status=404)


def expired(location: str | None) -> Outcome:
    """After the link's end: redirects to its `expiration_url`, if it has one. The visit does not count."""
    return Outcome(outcome="expired", status=302 if location else 410, location=location)


def limit(location: str | None) -> Outcome:
    """All clicks are used up: the same answer as after the end."""
    return Outcome(outcome="limit", status=302 if location else 410, location=location)


def password() -> Outcome:
    """A page that asks for the password. Like the warning, it shows nothing of the destination."""
    return Outcome(outcome="password", status=200)


def warning() -> Outcome:
    """A page that warns of sensitive content, until the visitor goes on."""
    return Outcome(outcome="warning", status=200)


def confirmation() -> Outcome:
    """A page with one button. Its form counts as the visit, and the request for the page does not."""
    return Outcome(outcome="confirmation", status=200)


def preview(destination: str = "") -> Outcome:
    """A page about the link that does not show its destination. A bot that gets it is recorded as one."""
    return Outcome(outcome="preview", status=200, destination=destination, counts=True)


def unavailable() -> Outcome:
    """The link can't be served now. The page shows nothing of the destination."""
    return Outcome(outcome="unavailable", status=503)


def after_form(outcome: Outcome) -> Outcome:
    """The same outcome as the answer to a form: a redirect becomes 303, or the form could be sent on to the
    destination, depending on the link's status."""
    return replace(outcome, status=HTTPStatus.SEE_OTHER) if outcome.outcome == "redirect" else outcome
