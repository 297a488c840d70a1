"""The confirmation page of limited links, so that programs that open every link use up no click.

A request for the page counts nothing. Its form counts a click, once for each page. See
docs/decisions/2026-11-23-confirmation-of-limited-links.md.
"""

from __future__ import annotations

from flask import request

from app.public import consent
from app.redirects import signed_tokens
from app.redirects.compiled_link import CompiledLink
from app.redirects.context import RedirectContext
from app.redirects.referrer import LONGEST
from app.redirects.signed_tokens import Confirmation
from app.redirects.state import CONFIRMATION, LinkState
from app.redirects.visitor import Visitor


def make_ticket(compiled_link: CompiledLink) -> str:
    """A signed token for the form of one page."""
    referrer = request.environ.get("HTTP_REFERER", "")[:LONGEST].partition("?")[0].partition("#")[0]
    return signed_tokens.signed(Confirmation(compiled_link.id, signed_tokens.make_id(), referrer))


def find_ticket(compiled_link: CompiledLink) -> Confirmation | None:
    """The token of the submitted form; None when the page must be shown again. Raises WaypostError."""
    found = consent.read_ticket(Confirmation)
    return found if found and found.link_id == compiled_link.id else None


def visitor_with(redirect_context: RedirectContext, ticket: Confirmation) -> Visitor:
    """The visitor who sent the form, with the referrer of their first request instead of our own page."""
    return redirect_context.visitor({**request.environ, "HTTP_REFERER": ticket.referrer})


def facts_with(facts: LinkState, compiled_link: CompiledLink) -> LinkState:
    """The link's state for a visitor who has sent the form: confirmed, and with their consent if asked."""
    agreed = consent.has_agreed() if consent.is_asked(compiled_link) else None
    return facts._replace(unlocked=facts.unlocked | {CONFIRMATION}, agreed=agreed)
