"""How does an owner change name, time zone, language, what is told, and the password?"""

from __future__ import annotations

from collections.abc import Callable

from flask import Blueprint, make_response, render_template, url_for
from flask.typing import ResponseReturnValue

from app import clock
from app.accounts import keys, passwords, second_factor, services
from app.accounts.forms import AccountForm, PasswordForm
from app.accounts.models import UserSession
from app.dashboard import pages, proofs, security_mail, sessions
from app.dashboard.guard import sent, user
from app.database import begin_write
from app.errors import Invalid
from app.extensions import db


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/account/", "account", show)
    blueprint.add_url_rule("/account/", "account_write", save, methods=["POST"])
    blueprint.add_url_rule("/account/password", "account_password", save_password, methods=["POST"])


def show() -> ResponseReturnValue:
    return page(AccountForm(None, owner=user(), stored=user()), PasswordForm(None, owner=user()))


def save() -> ResponseReturnValue:
    form = AccountForm(sent(), owner=user(), stored=user())
    return kept(form, lambda: services.update_user(user(), form.changes)) or sent_on("Your account is saved.")


def save_password() -> ResponseReturnValue:
    """A new one ends every session; this browser's goes on, for its owner has just typed the old one."""
    form = PasswordForm(sent(), owner=user())
    if form.validate():
        proofs.ask_password(form)
    if form.problems:
        return page(AccountForm(None, owner=user(), stored=user()), form, proofs.status_of(form))
    password_hash, signed_in_at = passwords.hash_password(form.password.data), sessions.this_one().datetime
    begin_write(db.session)
    services.store_password(user(), password_hash)
    revoked = keys.revoke_keys(user()) if form.revoke_keys.data else 0
    security_mail.told().password_is_changed(user(), revoked)
    db.session.commit()
    sessions.renew(user(), signed_in_at)
    return sent_on(
        "Your password is changed, and your API keys are revoked. Every other session is signed out."
        if revoked
        else "Your password is changed. Every other session is signed out."
    )


def kept(form: AccountForm, write: Callable[[], object]) -> ResponseReturnValue | None:
    """None when it is written; else the page with what is wrong."""
    try:
        form.require_valid()
        begin_write(db.session)
        write()
        db.session.commit()
    except Invalid as invalid:
        db.session.rollback()
        for error in invalid.errors if not form.problems else ():
            form.reject(error.field or "name", error.title, error.code)
        return page(form, PasswordForm(None, owner=user()), 422)
    return None


def page(form: AccountForm, password_form: PasswordForm, status: int = 200) -> ResponseReturnValue:
    body = render_template(
        "dashboard/account/page.html",
        form=form,
        password_form=password_form,
        here="account",
        has_second_factor=second_factor.is_on(user()),
        user_sessions=signed_in(),
        this_session=sessions.this_one(),
        active_keys=len(keys.active_keys(user())),
        now=clock.now(),
        zone=pages.zone(),
    )
    return make_response(body, status)


def signed_in() -> list[UserSession]:
    """This browser first, then those that were used last."""
    here = sessions.this_one().id
    return sorted(sessions.list_own(), key=lambda row: row.id != here)


def sent_on(message: str) -> ResponseReturnValue:
    return pages.sent_on(message, url_for("dashboard.account"))
