"""The confirmation page of limited links, and visitors' answers to the consent page for pixels.

Programs that open every link are to use up no click: a request for the confirmation page counts nothing. Its
form counts a click, once for each page. See docs/decisions/2026-11-23-confirmation-of-limited-links.md.
"""

from __future__ import annotations

from flask import request

from app.public.gates import has_form
from app.redirects import request_context, signed_tokens
from app.redirects.compiled_link import CompiledLink
from app.redirects.context import RedirectContext
from app.redirects.outcomes import Outcome, after_form
from app.redirects.presentation import delivery
from app.redirects.referrer import LONGEST
from app.redirects.signed_tokens import Confirmation, Passage, Ticket
from app.redirects.state import CONFIRMATION, LinkState
from app.redirects.visitor import Visitor
from app.web.body import MAX_SMALL_BYTES, read_sent


def make_ticket(compiled_link: CompiledLink) -> str:
    """A signed token for the form of one page."""
    referrer = request.environ.get("HTTP_REFERER", "")[:LONGEST].partition("?")[0].partition("#")[0]
    return signed_tokens.signed(Confirmation(compiled_link.id, signed_tokens.make_id(), referrer))


def find_ticket(compiled_link: CompiledLink) -> Confirmation | None:
    """The token of the submitted form; None when the page must be shown again. Raises WaypostError."""
    found = read_ticket(Confirmation)
    return found if found and found.link_id == compiled_link.id else None


def visitor_with(redirect_context: RedirectContext, ticket: Confirmation) -> Visitor:
    """The visitor who sent the form, with the referrer of their first request instead of our own page."""
    return redirect_context.visitor({**request.environ, "HTTP_REFERER": ticket.referrer})


def facts_with(facts: LinkState, compiled_link: CompiledLink) -> LinkState:
    """The link's state for a visitor who has sent the form: confirmed, and with their consent if asked."""
    agreed = has_agreed() if is_asked(compiled_link) else None
    return facts._replace(unlocked=facts.unlocked | {CONFIRMATION}, agreed=agreed)


TICKET, ANSWER, YES = "ticket", "consent", "yes"


def is_asked(compiled_link: CompiledLink) -> bool:
    """Whether the link asks its visitors for consent, so that it accepts a POST."""
    return compiled_link.asks_consent and compiled_link.has_pixels


def was_answered(compiled_link: CompiledLink) -> bool:
    """Whether the submitted form is that of the consent page, not of a gate. Raises WaypostError."""
    return is_asked(compiled_link) and (TICKET in read_sent(MAX_SMALL_BYTES) or not has_form(compiled_link))


def read_ticket(kind: type[Ticket]) -> Ticket | None:
    """The signed token in the submitted form; None without a valid one of this kind. Raises WaypostError."""
    return signed_tokens.read(kind, read_sent(MAX_SMALL_BYTES).text(TICKET))


def has_agreed() -> bool:
    return read_sent(MAX_SMALL_BYTES).text(ANSWER) == YES


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
