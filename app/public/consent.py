"""The visitor's answer to the consent page for pixels, and where they go on."""

from __future__ import annotations

from app.public.gates import has_form
from app.redirects import request_context, signed_tokens
from app.redirects.compiled_link import CompiledLink
from app.redirects.outcomes import Outcome, after_form
from app.redirects.presentation import delivery
from app.redirects.signed_tokens import Passage, Ticket
from app.web.body import MAX_SMALL_BYTES, read_sent

TICKET, ANSWER, YES = "ticket", "consent", "yes"


def is_asked(compiled_link: CompiledLink) -> bool:
    """Whether the link asks its visitors for consent, so that it accepts a POST."""
    return compiled_link.asks_consent and compiled_link.has_pixels


def was_answered(compiled_link: CompiledLink) -> bool:
    """Whether the submitted form is that of the consent page, not of a gate. Raises WaypostError."""
    return is_asked(compiled_link) and (TICKET in read_sent(MAX_SMALL_BYTES) or not has_form(compiled_link))


def read_ticket(kind: type[Ticket]) -> Ticket | None:
    """The signed token in the submitted form; None without a valid one of this kind. Raises WaypostError."""
    sent = read_sent(MAX_SMALL_BYTES)
    text = sent.last(TICKET) if TICKET in sent else None
    return signed_tokens.read(kind, text) if isinstance(text, str) else None


def has_agreed() -> bool:
    sent = read_sent(MAX_SMALL_BYTES)
    return ANSWER in sent and sent.last(ANSWER) == YES


def find_passage(compiled_link: CompiledLink) -> Passage | None:
    """The visitor's signed token for this link; None when the link must be requested again."""
    found = read_ticket(Passage)
    if (
        found is None
        or found[:2] != (compiled_link.id, compiled_link.password_version)
        or not compiled_link.is_enabled
    ):
        return None
    return found


def resolve_answer(compiled_link: CompiledLink, passage: Passage) -> Outcome:
    """The outcome after the answer. The visitor was counted, and passed all gates, before they were asked."""
    outcome, _ = delivery(
        compiled_link, request_context.visitor(), passage.location, "", has_agreed()
    )  # it was counted
    return after_form(outcome)
