"""Links an account to the person whom the provider named, after the account's password was typed."""

from __future__ import annotations

import datetime as dt

from flask import Response, flash, make_response, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from app.accounts import second_factor, sign_in_failures
from app.accounts.forms import PasswordAgainForm
from app.accounts.models import User
from app.accounts.oidc import identities
from app.accounts.oidc.errors import OidcError
from app.accounts.oidc.person import ProviderPerson
from app.core.clock import now
from app.core.database import begin_write
from app.core.errors import RateLimited, RetryLater
from app.core.extensions import db
from app.dashboard.auth import login, sessions
from app.dashboard.auth.access import current_security_mail, submitted_form
from app.dashboard.auth.login import blueprint
from app.dashboard.auth.single_sign_on import require_provider, uses_password
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.web.errors import status_of

PENDING_LINK = "link_to_make"  # in the session; the sign-in itself waits under another name
WRONG = _l("This is not the password of this account.")


def begin(user: User, person: ProviderPerson, next_: str) -> ResponseReturnValue:
    """Ask for the password of the account with this person's e-mail address.

    The same address is no proof: mailboxes change hands, and accounts here may be older than one there.
    """
    sessions.start_pending_sign_in(user, remember=False, next_=next_, person=person, name=PENDING_LINK)
    return redirect(url_for("accounts.oidc_link"), 303)


def over() -> ResponseReturnValue:
    why, _next = sessions.forget_pending_sign_in(PENDING_LINK)
    flash(str(why or sessions.CHANGED), "error")
    return redirect(url_for("accounts.login"), 303)


def pending_link() -> sessions.PendingSignIn | None:
    """The link that this browser has begun, while it can be made."""
    found = sessions.read_pending_sign_in(PENDING_LINK)
    return found if found and found.person and uses_password(found.user) else None


@blueprint.get("/login/oidc/link")
def oidc_link() -> ResponseReturnValue:
    require_provider()
    pending = pending_link()
    return link_page(PasswordAgainForm(None, owner=None), pending.user) if pending else over()


def link_page(form: PasswordAgainForm, user: User, status: int = 200) -> Response:
    return make_response(render_template("accounts/oidc_link.html", form=form, user=user), status)


@blueprint.post("/login/oidc/link")
def oidc_link_write() -> ResponseReturnValue:
    """The password counts as at the sign-in, and so does a second factor."""
    require_provider()
    pending = pending_link()
    if pending is None or pending.person is None:
        return over()
    user, person = pending.user, pending.person
    form = PasswordAgainForm(submitted_form(), owner=None)
    if not form.validate():
        return link_page(form, user, 422)
    try:
        known = login.authenticate(user.email, form.own_password.data)
    except RetryLater as wait:
        if isinstance(wait, RateLimited):
            sign_in_failures.note_password(user.email, sign_in_failures.TOO_MANY_TRIES)
        form.reject("own_password", str(wait), wait.errors[0].code)
        return login.after_a_while(wait, link_page(form, user, status_of(wait)))
    if known is None:
        sign_in_failures.note_password(user.email)
        form.reject("own_password", WRONG, "wrong_password")
        return link_page(form, user, 403)
    db.session.commit()  # the password hash, where it was renewed
    if second_factor.is_on(user):
        sessions.start_pending_sign_in(user, remember=False, next_=pending.next_, person=person, links=True)
        return login.to_code()
    return finish(user, person, pending.next_)


def finish(
    user: User,
    person: ProviderPerson,
    next_: str,
    *,
    method: str = "oidc",
    password_typed: dt.datetime | None = None,
) -> ResponseReturnValue:
    """Make the link, and sign in. `password_typed`: when, if not just now."""
    begin_write(db.session)
    try:
        identities.link(user, person)
    except OidcError as error:
        db.session.rollback()
        sign_in_failures.note("sign_in.failed", user, error.reason)
        flash(str(error.errors[0].title), "error")
        return redirect(url_for("accounts.login"), 303)
    current_security_mail().identity_linked(user, person.email)
    db.session.commit()
    sessions.start(user, method=method, password_typed=password_typed or now(), person=person)
    flash(_("Your account is linked. From now on you can sign in without your password."))
    return redirect(next_, 303)
