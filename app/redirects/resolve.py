"""The rule engine: decides what a visitor gets from a link at a moment, and explains why.

`resolve` is pure: values in, a value out. The steps are in one table, in the contract's order. The first step
with an outcome is the last one, and each step adds a line to the explanation.
"""

# see docs/decisions/2026-11-21-who-goes-where.md
from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import NamedTuple

from app.i18n.messages import lazy_gettext as _l
from app.redirects import outcomes
from app.redirects.compiled_link import CompiledLink
from app.redirects.location import encode_location, with_query
from app.redirects.outcomes import Outcome, Step
from app.redirects.presentation import asks_consent, delivery
from app.redirects.state import CONFIRMATION, NOTHING_KNOWN, PASSWORD, WARNING, LinkState
from app.redirects.visitor import Visitor


@dataclass(slots=True)
class Resolution:
    """The state of one resolution between its steps: its inputs, and the destination so far."""

    compiled_link: CompiledLink
    visitor: Visitor
    now: dt.datetime
    facts: LinkState = NOTHING_KNOWN
    destination: str = ""
    location: str = ""
    steps: list[Step] = field(default_factory=list)


class StepResult(NamedTuple):
    """The result of one step: whether it applied, the explanation, and the outcome if it is the last."""

    matched: bool
    detail: str
    outcome: Outcome | None = None


# results for options that are not set; made once, because making one takes longer than the check itself
ENABLED = StepResult(False, _l("the link is enabled"))
NO_START, NO_END = StepResult(False, _l("no start date")), StepResult(False, _l("no end date"))
NO_LIMIT = StepResult(False, _l("no limit"))
NO_PASSWORD, NO_WARNING = StepResult(False, _l("no password")), StepResult(False, _l("no warning"))
NO_TARGETING, NO_CONFIRMATION = (
    StepResult(False, _l("no targeting")),
    StepResult(False, _l("no tap is asked for")),
)
ADDED, UNCHANGED = StepResult(True, _l("parameters added")), StepResult(False, _l("unchanged"))


def resolve(
    compiled_link: CompiledLink | None, visitor: Visitor, now: dt.datetime, facts: LinkState = NOTHING_KNOWN
) -> Outcome:
    """The answer for one visit. `compiled_link` is None if there is no such link. Does no input or output."""
    if compiled_link is None:
        return replace(outcomes.not_found(), steps=[Step("link", True, _l("no such link"))])
    resolution = Resolution(compiled_link, visitor, now, facts)
    for name, take in STEPS:
        matched, detail, outcome = take(resolution)
        resolution.steps.append(Step(name, matched, detail))
        if outcome is not None:
            outcome.steps.extend(resolution.steps)
            return outcome
    raise AssertionError("the last step always has an outcome")


def is_disabled(resolution: Resolution) -> StepResult:
    if resolution.compiled_link.is_enabled:
        return ENABLED
    return StepResult(True, _l("the link is disabled"), outcomes.not_found())


def is_not_yet(resolution: Resolution) -> StepResult:
    """Whether the start is in the future. It is inclusive."""
    start = resolution.compiled_link.start_date
    if start is None:
        return NO_START
    if resolution.now >= start:
        return StepResult(False, _l("started %(start)s", start=f"{start:%Y-%m-%d %H:%M:%S}"))
    return StepResult(True, _l("starts %(start)s", start=f"{start:%Y-%m-%d %H:%M:%S}"), outcomes.not_yet())


def has_ended(resolution: Resolution) -> StepResult:
    """Whether the end has come. It is exclusive."""
    end = resolution.compiled_link.end_date
    if end is None:
        return NO_END
    if resolution.now < end:
        return StepResult(False, _l("ends %(end)s", end=f"{end:%Y-%m-%d %H:%M:%S}"))
    return StepResult(
        True,
        _l("ended %(end)s", end=f"{end:%Y-%m-%d %H:%M:%S}"),
        outcomes.expired(expiration(resolution.compiled_link)),
    )


def expiration(compiled_link: CompiledLink) -> str | None:
    """The `expiration_url` for a header. It gets no UTM parameters and no forwarded query."""
    return (
        encode_location(compiled_link.expiration_url, compiled_link.schemes)
        if compiled_link.expiration_url
        else None
    )


def is_used_up(resolution: Resolution) -> StepResult:
    """Whether all clicks are used up. If their number is unknown, the link is unavailable."""
    limit, clicks = resolution.compiled_link.clicks_limit, resolution.facts.clicks
    if limit is None:
        return NO_LIMIT
    if clicks is None:
        return StepResult(
            True,
            _l("%(limit)s clicks, and the number used is unknown", limit=limit),
            outcomes.unavailable(),
        )
    if clicks < limit:
        return StepResult(False, _l("%(clicks)s of %(limit)s clicks are used", clicks=clicks, limit=limit))
    return StepResult(
        True,
        _l("all %(limit)s clicks are used", limit=limit),
        outcomes.limit(expiration(resolution.compiled_link)),
    )


def is_protected(resolution: Resolution) -> StepResult:
    """Whether a password is asked for. Bots are asked even after the right one: they must not learn the
    destination."""
    if resolution.compiled_link.password_hash is None:
        return NO_PASSWORD
    if PASSWORD in resolution.facts.unlocked and not resolution.visitor.is_bot:
        return StepResult(False, _l("the password was given"))
    return StepResult(True, _l("a password is asked for"), outcomes.password())


def is_sensitive(resolution: Resolution) -> StepResult:
    if not resolution.compiled_link.sensitive_content:
        return NO_WARNING
    if WARNING in resolution.facts.unlocked and not resolution.visitor.is_bot:
        return StepResult(False, _l("the warning was read"))
    return StepResult(True, _l("a warning comes first"), outcomes.warning())


def is_withheld(resolution: Resolution) -> StepResult:
    """Whether the destination is withheld: bots and HEAD use up no click of a limited link."""
    if resolution.compiled_link.clicks_limit is None:
        return NO_LIMIT
    if resolution.visitor.is_head or resolution.visitor.is_bot:
        return StepResult(
            True, _l("a bot or HEAD does not see the destination of a limited link"), outcomes.preview()
        )
    return StepResult(False, _l("a person, who uses up a click"))


def choose_destination(resolution: Resolution) -> StepResult:
    """Set the destination: that of the first matching pair, else the link's own."""
    compiled_link = resolution.compiled_link
    resolution.destination = compiled_link.location_url
    if compiled_link.targets is None:
        return NO_TARGETING
    chosen, detail = compiled_link.targets.choose(
        resolution.visitor, compiled_link.id, compiled_link.workspace_id
    )
    if chosen is not None:
        resolution.destination = chosen
    return StepResult(chosen is not None, f"{compiled_link.targeting_type}: {detail}")


def add_query(resolution: Resolution) -> StepResult:
    """Add the link's own parameters, and the visitor's if they are forwarded; then encode for a header."""
    forwarded = (
        resolution.visitor.query if resolution.compiled_link.forward_query_parameters_is_enabled else ""
    )
    changed = with_query(resolution.destination, resolution.compiled_link.utm, forwarded)
    location = encode_location(changed, resolution.compiled_link.schemes)
    if location is None:
        return StepResult(True, _l("the destination's scheme or host is not allowed"), outcomes.not_found())
    resolution.location = location
    return UNCHANGED if changed == resolution.destination else ADDED


def is_unconfirmed(resolution: Resolution) -> StepResult:
    """Whether a tap is asked for. One form is enough: that of a password, a warning or the question about
    pixels stands for the tap.

    docs/decisions/2026-11-23-confirmation-of-limited-links.md
    """
    compiled_link = resolution.compiled_link
    if not compiled_link.clicks_limit_confirmation_is_enabled or compiled_link.clicks_limit is None:
        return NO_CONFIRMATION
    if not compiled_link.asks_confirmation:
        return StepResult(False, _l("the form before it was the tap"))
    if CONFIRMATION in resolution.facts.unlocked:
        return StepResult(False, _l("the button was tapped"))
    if asks_consent(compiled_link, resolution.visitor):
        return StepResult(False, _l("the answer about pixels is the tap"))
    return StepResult(True, _l("a tap is asked for"), outcomes.confirmation())


def deliver(resolution: Resolution) -> StepResult:
    """The last step: how the visitor gets to the destination."""
    outcome, why = delivery(
        resolution.compiled_link,
        resolution.visitor,
        resolution.location,
        resolution.destination,
        resolution.facts.agreed,
    )
    if outcome.outcome == "consent" and resolution.compiled_link.asks_confirmation:
        outcome = replace(outcome, counts=False)
    return StepResult(True, why, outcome)


STEPS: tuple[tuple[str, Callable[[Resolution], StepResult]], ...] = (
    ("is_enabled", is_disabled),
    ("start_date", is_not_yet),
    ("end_date", has_ended),
    ("clicks_limit", is_used_up),
    ("password", is_protected),
    ("sensitive_content", is_sensitive),
    ("preview", is_withheld),
    ("targeting_type", choose_destination),
    ("query", add_query),
    ("confirmation", is_unconfirmed),
    ("delivery", deliver),
)
