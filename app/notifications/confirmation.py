"""Confirmation of e-mail addresses: one mail asks, and nothing else is sent before the recipient agrees.

The verified address of the owner's own account needs no confirmation.
See docs/decisions/2026-11-22-confirmed-addresses.md.
"""

from __future__ import annotations

import datetime as dt

from itsdangerous import BadSignature, SignatureExpired
from sqlalchemy import update

from app.accounts.models import User
from app.core.clock import now
from app.core.database import AnySession
from app.core.encryption import UnreadableSecret
from app.core.leases import is_free, precise_now
from app.core.secret_keys.mail_tokens import MailTokens
from app.i18n.languages import in_language
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.notifications import system_email
from app.notifications.models import Delivery, NotificationHandler
from app.notifications.site import SiteUrls
from app.notifications.transport import all_transports
from app.notifications.unsubscribe import place_of

VALID = dt.timedelta(days=7)
TOKENS = MailTokens("confirmation", "waypost: confirm an address", int(VALID.total_seconds()))
UNCONFIRMED = _l("This address is not confirmed yet: open the link in the mail that Waypost has sent there.")


class Expired(Exception):
    """The link is genuine but too old."""


def address_to_confirm(handler: NotificationHandler) -> str:
    """The e-mail address whose recipient has to agree; "" where the type has none."""
    name = all_transports()[handler.type].confirms
    return str(handler.settings.get(name, "")) if name else ""


def require_confirmation(session: AnySession, handler: NotificationHandler, before: str = "") -> None:
    """Schedule a confirmation mail where the handler's address needs one.

    Call it for a new handler, and for each change of one. `before`: `place_of` the handler before the change.
    Another address has to be confirmed again.
    """
    if isinstance(handler.settings, UnreadableSecret):
        return  # its address can't be read, so whether it is confirmed stays as it is
    if place_of(handler) != before:
        system_email.withdraw(session, about(handler))
        handler.is_confirmed, handler.confirmation_datetime = False, None
    address, owner = address_to_confirm(handler), session.get_one(User, handler.user_id)
    handler.is_confirmed = handler.is_confirmed or not address or owner.is_own_address(address)
    waits = handler.is_enabled and not handler.is_confirmed
    handler.confirmation_due = (handler.confirmation_due or now()) if waits else None


def refusal_of(handler: NotificationHandler) -> str:
    """Why nothing may be sent to the handler, in words; "" where sending is allowed."""
    return "" if handler.is_confirmed else UNCONFIRMED


def post_confirmation(session: AnySession, handler: NotificationHandler, site: SiteUrls) -> None:
    """Write the mail that asks for confirmation.

    It contains no text of the owner's: its recipient may be a stranger who never agreed to anything.
    """
    owner = session.get_one(User, handler.user_id)
    with in_language(owner.language):
        content = system_email.Content(
            title=_("Confirm your e-mail address"),
            text=" ".join(
                (
                    _("Someone wants to send reports about short links to this address."),
                    _("Confirm it by the link below within seven days, if you want to get them."),
                    _("If not, you need not do anything: nothing else is sent to you."),
                )
            ),
            url=site.confirm_page(token_of(handler)),
            button=_("Confirm the address"),
            note="address",
            language=owner.language,
        )
    system_email.withdraw(session, about(handler))
    address = address_to_confirm(handler)
    system_email.enqueue(session, owner.id, about(handler), address, content, now() + VALID)
    handler.confirmation_due, handler.confirmation_datetime = None, now()


def about(handler: NotificationHandler) -> str:
    return f"confirmation:{handler.id}"


def token_of(handler: NotificationHandler) -> str:
    return TOKENS.sign([handler.id, place_of(handler)])


def find_handler(session: AnySession, token: str) -> NotificationHandler | None:
    """The handler whose address a token confirms; None once the handler has another one. Raises Expired."""
    try:
        id_, place = TOKENS.read(session, token)
    except SignatureExpired:
        raise Expired from None
    except (BadSignature, ValueError, TypeError):
        return None
    handler = session.get(NotificationHandler, id_)
    return handler if handler and place_of(handler) == place else None


def confirm(session: AnySession, handler: NotificationHandler) -> None:
    """Mark the address as confirmed, and make its pending deliveries due at once. (The caller commits.)"""
    if handler.is_confirmed:
        return
    handler.is_confirmed, handler.confirmation_due, handler.failing_since = True, None, None
    owner = session.get_one(User, handler.user_id)
    if owner.email == address_to_confirm(handler).lower():
        owner.verified_email = owner.email
    waits = Delivery.handler_id == handler.id, Delivery.due.is_not(None), is_free(Delivery, precise_now())
    session.execute(update(Delivery).where(*waits).values(due=precise_now()))
