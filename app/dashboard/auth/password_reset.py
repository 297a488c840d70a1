"""Pages that reset a forgotten password by mail.

The answer does not reveal whether an address has an account: it is always the same, and so is the work before
it. Only the address is stored, and the worker looks up its account.
"""

from __future__ import annotations

from flask import Response, abort, flash, make_response, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from app.accounts import keys, passwords, resets
from app.accounts.forms import AddressForm, NewPasswordForm
from app.accounts.models import User
from app.core.database import begin_write
from app.core.errors import RateLimited
from app.core.extensions import db
from app.dashboard.auth import known_browsers, rate_limits
from app.dashboard.auth.access import current_security_mail, has_mail, submitted_form
from app.dashboard.auth.login import after_a_while, blueprint, submitted_text
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
    resets.request(form.email.data)
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
    user = resets.find(submitted_text("token"))
    return over_page() if user is None else reset_page(NewPasswordForm(None, owner=user), user)


@blueprint.post("/login/reset")
def set_new() -> ResponseReturnValue:
    """Set the new password. Every session ends; two-factor authentication stays on."""
    require_passwords()
    user = resets.find(submitted_text("token"))
    if user is None:
        return over_page()
    form = NewPasswordForm(submitted_form(), owner=user)
    if not form.validate():
        return reset_page(form, user, 422)
    password_hash = passwords.hash_password(form.password.data)
    begin_write(db.session)
    done = resets.use(submitted_text("token"), password_hash)
    if done is not None:
        revoked = keys.revoke_keys(done) if form.revoke_keys.data else 0
        end_over(db.session)
        current_security_mail().password_is_changed(done, revoked)
    db.session.commit()
    if done is None:  # the same mail was used twice
        return over_page()
    known_browsers.remember_browser(done)  # strangers who try the old password must not lock this browser out
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
