"""What are owners told by mail about the doors of their account, where a mail server is set?"""

from __future__ import annotations

import datetime as dt

from flask import current_app, url_for

from app import own_addresses
from app.accounts.models import User
from app.accounts.resets import GOOD_FOR
from app.clock import now
from app.config import Settings
from app.extensions import db
from app.languages import catalogue
from app.notifications import letters

KEPT_TRYING = dt.timedelta(days=1)
NOT_YOU = "If this was not you, set a new password, and look through the sessions in your account."


def has_mail() -> bool:
    settings: Settings = current_app.config["WAYPOST"]
    return bool(settings.smtp_url)


def two_factor_is_on(user: User) -> None:
    text = "From now on a code of your authenticator app is asked for when somebody signs in."
    tell(user, "Two-factor authentication is on", text, "See your account")


def two_factor_is_off(user: User) -> None:
    text = "From now on your password alone opens your account."
    tell(user, "Two-factor authentication is off", text, "See your account")


def recovery_code_used(user: User, left: int) -> None:
    text = f"Somebody signed in with one of your recovery codes. Codes left: {left}."
    tell(user, "A recovery code was used", text, "See your account")


def email_is_changed(user: User, old: str) -> None:
    """To the address that was, whose reader may know nothing of it. No new password is sent there now."""
    letters.withdraw(db.session, reset_of(user))
    texts = (
        f"From now on {user.email} signs in to your account, and mails go there.",
        "If this was not you, tell whoever runs this Waypost at once.",
    )
    title = "Your account has another e-mail address"
    address = own_addresses.owners_site() + url_for("dashboard.account")
    post(user, title, texts, address, "See your account", "account", KEPT_TRYING, to=old)


def reset_of(user: User) -> str:
    return f"reset:{user.id}"


def tell(user: User, title: str, text: str, button: str) -> None:
    """Inside the write of what is told."""
    address = own_addresses.owners_site() + url_for("dashboard.account")
    post(user, title, (text, NOT_YOU), address, button, "account", KEPT_TRYING)


def new_password(user: User, token: str) -> None:
    """The one-time address for a new password; nothing else has it."""
    address = own_addresses.owners_site() + url_for("accounts.reset", token=token)
    texts = (
        "Somebody asked for a new password for your account. Choose one by the address below within an hour.",
        "If this was not you, there is nothing to do: your password stays as it is.",
    )
    about = reset_of(user)
    letters.withdraw(db.session, about)
    post(user, "A new password for Waypost", texts, address, "Choose a new password", about, GOOD_FOR)


def post(
    user: User,
    title: str,
    texts: tuple[str, ...],
    url: str,
    button: str,
    about: str,
    until: dt.timedelta,
    to: str = "",
) -> None:
    if not has_mail():
        return
    content = letters.Content(
        title=said(user, title),
        text=" ".join(said(user, text) for text in texts),
        url=url,
        button=said(user, button),
    )
    letters.post(db.session, user.id, about, to or user.email, content, now() + until)


def said(user: User, text: str) -> str:
    """In the owner's language, whoever is at the browser."""
    found = catalogue(user.language)
    return found.say(text) if found else text
