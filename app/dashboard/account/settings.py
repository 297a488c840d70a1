"""Account page: name, time zone, language, reports, destination checks, and the password."""

from __future__ import annotations

from typing import Any

from flask import abort, make_response, render_template, url_for
from flask.typing import ResponseReturnValue

from app.accounts import keys, passwords, second_factor, services
from app.accounts.forms import AccountForm, PasswordForm
from app.accounts.models import User, UserSession
from app.accounts.oidc import identities
from app.accounts.oidc.models import OidcIdentity
from app.core import clock
from app.core.database import begin_write
from app.core.extensions import db
from app.dashboard.auth import proofs, sessions
from app.dashboard.auth.access import current_security_mail, signed_in_user, submitted_form
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.auth.single_sign_on import find_provider, require_provider, uses_password
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.form_views import FormView
from app.events.subscriptions.ending import end_over
from app.i18n.messages import gettext as _
from app.input.data import RequestData


class AccountViews(FormView):
    """The form of the account's settings, on its page."""

    def get_row(self, id: int | None = None) -> User:  # noqa: ARG002  the user's own
        return signed_in_user()

    def make_form(self, fields: RequestData | None, stored: User) -> AccountForm:
        return AccountForm(fields, owner=stored, stored=stored)

    def form_page(self, form: Any, status: int = 200) -> ResponseReturnValue:
        return render_account(form, PasswordForm(None, owner=signed_in_user()), status)

    def save(self, row: User, changes: dict[str, Any]) -> User:
        services.update_user(row, changes)
        return row

    def updated(self, row: User) -> ResponseReturnValue:  # noqa: ARG002
        return back_to_account(_("Your account is saved."))


VIEWS = AccountViews()


@blueprint.get("/account/", endpoint="account")
def show() -> ResponseReturnValue:
    return VIEWS.ask_edit(signed_in_user().id)


@blueprint.post("/account/", endpoint="account_write")
def save() -> ResponseReturnValue:
    return VIEWS.update(signed_in_user().id)


@blueprint.post("/account/password", endpoint="account_password")
def save_password() -> ResponseReturnValue:
    """Change the password. Every session ends; this browser's is renewed: the old password was just typed."""
    if not uses_password(signed_in_user()):
        abort(404)
    form = PasswordForm(submitted_form(), owner=signed_in_user())
    if form.validate():
        proofs.ask_password(form)
    if form.problems:
        return render_account(VIEWS.read_form(None, signed_in_user()), form, proofs.status_of(form))
    password_hash, signed_in_at = passwords.hash_password(form.password.data), sessions.this_one().datetime
    begin_write(db.session)
    services.store_password(signed_in_user(), password_hash)
    revoked = keys.revoke_keys(signed_in_user()) if form.revoke_keys.data else 0
    end_over(db.session)
    current_security_mail().password_is_changed(signed_in_user(), revoked)
    db.session.commit()
    sessions.renew(signed_in_user(), signed_in_at)
    return back_to_account(
        _("Your password is changed, and your API keys are revoked. Every other session is signed out.")
        if revoked
        else _("Your password is changed. Every other session is signed out.")
    )


def render_account(form: AccountForm, password_form: PasswordForm, status: int = 200) -> ResponseReturnValue:
    body = render_template(
        "dashboard/account/page.html",
        form=form,
        password_form=password_form,
        here="account",
        has_second_factor=second_factor.is_on(signed_in_user()),
        has_app=second_factor.has_app(signed_in_user()),
        user_sessions=signed_in(),
        this_session=sessions.this_one(),
        by_provider=identities.sessions_of(signed_in_user()),
        has_password=uses_password(signed_in_user()),
        identity=own_identity(),
        active_keys=len(keys.active_keys(signed_in_user())),
        now=clock.now(),
        zone=rendering.owner_zone(),
    )
    return make_response(body, status)


def own_identity() -> OidcIdentity | None:
    provider = find_provider()
    return identities.of_user(signed_in_user(), provider.issuer) if provider else None


@blueprint.post("/account/single-sign-on/unlink", endpoint="account_unlink")
@reauthenticated(show)
def unlink() -> ResponseReturnValue:
    """Remove the link to the provider. Only for a user who can still sign in."""
    provider = require_provider()
    if not uses_password(signed_in_user()):
        abort(404)
    signed_in_at = sessions.this_one().datetime
    begin_write(db.session)
    row = db.session.get_one(User, signed_in_user().id)
    identities.unlink(row, provider.issuer)
    db.session.commit()
    sessions.renew(row, signed_in_at)  # this one may have been of the provider
    return back_to_account(_("The link to single sign-on is removed."))


def signed_in() -> list[UserSession]:
    """The user's sessions: this browser's first, then the others, the last used first."""
    here = sessions.this_one().id
    return sorted(sessions.list_own(), key=lambda row: row.id != here)


def back_to_account(message: str) -> ResponseReturnValue:
    return rendering.redirect_with(message, url_for("dashboard.account"))
