"""How does whoever gets a mail have no more of them, without an account? By an address nobody can guess."""

from __future__ import annotations

import hashlib

from itsdangerous import BadSignature

from app.database import AnySession
from app.notifications.models import NotificationHandler
from app.notifications.outbox import switch_off
from app.notifications.site import Site
from app.notifications.transport import all_transports
from app.secret_keys.mail_tokens import MailTokens

# mails are kept for years, and so the tokens in them are good for ever
TOKENS = MailTokens("unsubscribe", "waypost: no more messages")
REASON = "Somebody who got its messages has ended them, by the link in one of them."


def stop_url(handler: NotificationHandler, site: Site) -> str:
    return site.stop_page(TOKENS.sign([handler.id, place_of(handler)]))


def handler_of(session: AnySession, token: str) -> NotificationHandler | None:
    """Whose messages a token ends; None once they go to another address: who reads there did not get it."""
    try:
        id_, place = TOKENS.read(session, token)
    except (BadSignature, ValueError, TypeError):
        return None
    handler = session.get(NotificationHandler, id_)
    return handler if handler and place_of(handler) == place else None


def stop(handler: NotificationHandler) -> None:
    """Switch it off; a second time changes nothing. On again, its address is confirmed anew. (The caller
    commits.)"""
    if handler.is_enabled:
        switch_off(handler, REASON)
        handler.is_confirmed, handler.confirmation_datetime = False, None


def place_of(handler: NotificationHandler) -> str:
    """Which place it delivers to, as a mark that does not tell it."""
    first = all_transports()[handler.type].settings[0].name
    text = f"{handler.type} {handler.settings.get(first)}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
