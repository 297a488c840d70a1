"""Pages of one-time addresses: they reset a forgotten password by mail, or sign in.

The answer to a forgotten password does not reveal whether an address has an account: it is always the same,
and so is the work before it. Only the address is stored, and the worker looks up its account.

Opening the address of a sign-in shows a button: what opens addresses by itself, as mail scanners do, uses
none up.
"""

from __future__ import annotations

from flask import Response, abort, flash, make_response, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from app.accounts import keys, one_time_addresses, passwords, second_factor, sign_in_failures
from app.accounts.forms import AddressForm, NewPasswordForm
from app.accounts.models import PasswordReset, SignInLink, User
from app.core.database import begin_write
from app.core.errors import RateLimited
from app.core.extensions import db
from app.dashboard.auth import rate_limits, sessions
from app.dashboard.auth.access import current_security_mail, has_mail, submitted_form
from app.dashboard.auth.login import after_a_while, blueprint, submitted_text, to_code
from app.dashboard.auth.single_sign_on import require_passwords
from app.events.subscriptions.ending import end_over
from app.i18n.messages import gettext as _


@blueprint.get("/login/forgotten")
def forgotten() -> ResponseReturnValue:
    require_mail()
    return forgotten_page(AddressForm(None, owner=None))


@blueprint.post("/login/forgotten")
def ask() -> ResponseReturnValue:
    require_mail()
    form = AddressForm(submitted_form(), owner=None)
    if not form.validate():
        return forgotten_page(form, 422)
    try:
        rate_limits.count_try(rate_limits.of_forgotten(form.email.data))
    except RateLimited as wait:
        form.reject("email", str(wait), "too_many_tries")
        return after_a_while(wait, forgotten_page(form, 429))
    begin_write(db.session)
    one_time_addresses.request_reset(form.email.data)
    db.session.commit()
    return make_response(render_template("accounts/forgotten_asked.html", email=form.email.data))


def require_mail() -> None:
    """Without a mail server nothing could be sent, so there is no such page."""
    require_passwords()
    if not has_mail():
        abort(404)


def forgotten_page(form: AddressForm, status: int = 200) -> Response:
    return make_response(render_template("accounts/forgotten.html", form=form), status)


@blueprint.get("/login/reset")
def reset() -> ResponseReturnValue:
    require_passwords()
    user = one_time_addresses.find_user(PasswordReset, submitted_text("token"))
    return over_page() if user is None else reset_page(NewPasswordForm(None, owner=user), user)


@blueprint.post("/login/reset")
def set_new() -> ResponseReturnValue:
    """Set the new password. Every session ends; two-factor authentication stays on."""
    require_passwords()
    user = one_time_addresses.find_user(PasswordReset, submitted_text("token"))
    if user is None:
        return over_page()
    form = NewPasswordForm(submitted_form(), owner=user)
    if not form.validate():
        return reset_page(form, user, 422)
    password_hash = passwords.hash_password(form.password.data)
    begin_write(db.session)
    done = one_time_addresses.use_reset(submitted_text("token"), password_hash)
    if done is not None:
        revoked = keys.revoke_keys(done) if form.revoke_keys.data else 0
        end_over(db.session)
        current_security_mail().password_is_changed(done, revoked)
    db.session.commit()
    if done is None:  # the same mail was used twice
        return over_page()
    rate_limits.remember_browser(done)  # strangers who try the old password must not lock this browser out
    flash(_("Your new password is set. Sign in with it."))
    return redirect(url_for("accounts.login"), 303)


def reset_page(form: NewPasswordForm, user: User, status: int = 200) -> Response:
    active_keys = len(keys.active_keys(user))
    body = render_template(
        "accounts/reset.html", form=form, user=user, token=submitted_text("token"), active_keys=active_keys
    )
    return make_response(body, status)


def over_page() -> Response:
    body = render_template("accounts/reset_over.html", has_mail=has_mail())
    return make_response(body, 410)


# --- sign-in by a one-time address that the operator has printed (`users sign-in-link`)


EXPIRED_LINK = "expired_link"


@blueprint.get("/login/link")
def sign_in_link() -> ResponseReturnValue:
    user = one_time_addresses.find_user(SignInLink, submitted_text("token"))
    if user is None:
        return link_over_page()
    return render_template("accounts/sign_in_link.html", user=user, token=submitted_text("token"))


@blueprint.post("/login/link")
def sign_in_by_link() -> ResponseReturnValue:
    """A user with a second factor is asked for it here, too: the operator can switch it off."""
    try:
        rate_limits.count_try((rate_limits.by_address(rate_limits.BY_ADDRESS),))
    except RateLimited as wait:
        return after_a_while(wait, link_over_page(str(wait), 429))
    begin_write(db.session)
    user = one_time_addresses.use_token(SignInLink, submitted_text("token"))
    db.session.commit()
    if user is None:
        sign_in_failures.note("sign_in.failed", None, EXPIRED_LINK)
        return link_over_page()
    home = url_for("dashboard.home")
    if second_factor.is_on(user):
        sessions.start_pending_sign_in(user, remember=False, next_=home)
        return to_code()
    sessions.start(user, method="link")
    return redirect(home, 303)


def link_over_page(problem: str = "", status: int = 410) -> Response:
    return make_response(render_template("accounts/sign_in_link_over.html", problem=problem), status)
