"""Who tells owners by mail what becomes of the doors of their account, in a request?"""

from __future__ import annotations

from app.extensions import db
from app.notifications.security import SecurityMail
from app.own_addresses import settings


def told() -> SecurityMail:
    return SecurityMail(db.session, settings())


def has_mail() -> bool:
    return bool(settings().smtp_url)
