"""What does a visitor get who was asked about pixels and has answered?"""

from __future__ import annotations

from dataclasses import replace
from http import HTTPStatus

from app.bodies import MAX_SMALL_BYTES, read_sent
from app.public import here
from app.public.gates import has_form
from app.visits import tickets
from app.visits.delivery import delivery
from app.visits.outcomes import Outcome
from app.visits.plan import Plan
from app.visits.tickets import Passage

TICKET, ANSWER, YES = "ticket", "consent", "yes"


def is_asked(plan: Plan) -> bool:
    """Whether the link's visitors are asked, so that it takes a POST."""
    return plan.asks_consent and plan.has_pixels


def was_answered(plan: Plan) -> bool:
    """Whether what was sent is the answer, and not the form of one of its gates. Raises WaypostError."""
    return is_asked(plan) and (TICKET in read_sent(MAX_SMALL_BYTES) or not has_form(plan))


def find_passage(plan: Plan) -> Passage | None:
    """The visitor's leave to go on along this link; None when the link must be asked for once more."""
    sent = read_sent(MAX_SMALL_BYTES)
    ticket = sent.last(TICKET) if TICKET in sent else None
    found = tickets.read(Passage, ticket) if isinstance(ticket, str) else None
    if found is None or found[:2] != (plan.id, plan.password_version) or not plan.is_enabled:
        return None
    return found


def resolve_answer(plan: Plan, passage: Passage) -> Outcome:
    """How the visitor goes on, who was counted and passed whatever the link has when they were asked."""
    sent = read_sent(MAX_SMALL_BYTES)
    agreed = ANSWER in sent and sent.last(ANSWER) == YES
    outcome, _ = delivery(plan, here.visitor(), passage.location, "", agreed)  # it was counted
    # whatever the link's own status: the answer must not be sent on to the destination
    return replace(outcome, status=HTTPStatus.SEE_OTHER) if outcome.outcome == "redirect" else outcome
