"""The sender of security mails, with the session and the settings of this request."""

from __future__ import annotations

from app.core.extensions import db
from app.notifications.security_email import SecurityMail
from app.web.application import settings


def current_security_mail() -> SecurityMail:
    return SecurityMail(db.session, settings())


def has_mail() -> bool:
    return bool(settings().smtp_url)
