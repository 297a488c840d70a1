"""Unsubscribing from a handler's mails without an account, by a signed link in each mail."""

from __future__ import annotations

import hashlib

from itsdangerous import BadSignature

from app.core.database import AnySession
from app.core.secret_keys.mail_tokens import MailTokens
from app.i18n.messages import lazy_gettext as _l
from app.notifications.models import NotificationHandler
from app.notifications.outbox import switch_off
from app.notifications.site import SiteUrls
from app.notifications.transport import all_transports

# mails are kept for years, so the tokens in them never expire
TOKENS = MailTokens("unsubscribe", "waypost: no more messages")
REASON = _l("A recipient has unsubscribed with the link in one of its messages.")


def stop_url(handler: NotificationHandler, site: SiteUrls) -> str:
    return site.stop_page(TOKENS.sign([handler.id, place_of(handler)]))


def handler_of(session: AnySession, token: str) -> NotificationHandler | None:
    """The handler whose messages a token ends.

    None once its messages go to another address: the token was never sent to the reader there.
    """
    try:
        id_, place = TOKENS.read(session, token)
    except (BadSignature, ValueError, TypeError):
        return None
    handler = session.get(NotificationHandler, id_)
    return handler if handler and place_of(handler) == place else None


def stop(handler: NotificationHandler) -> None:
    """Switch the handler off, and drop its confirmation. (The caller commits.)

    A second call changes nothing. Switched on again, its address has to be confirmed again.
    """
    if handler.is_enabled:
        switch_off(handler, REASON)
        handler.is_confirmed, handler.confirmation_datetime = False, None


def place_of(handler: NotificationHandler) -> str:
    """A digest of the address that the handler delivers to, which does not reveal it."""
    first = all_transports()[handler.type].settings[0].name
    text = f"{handler.type} {handler.settings.get(first)}"
    return hashlib.sha256(text.encode()).hexdigest()[:16]
