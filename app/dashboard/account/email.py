"""How does an owner come to sign in with another e-mail address?"""

from __future__ import annotations

from flask import Blueprint, Response, flash, url_for
from flask.typing import ResponseReturnValue

from app.accounts import services
from app.accounts.forms import OwnEmailForm
from app.accounts.models import User
from app.dashboard import pages, proofs, security_mail
from app.dashboard.guard import sent, user
from app.database import begin_write
from app.errors import Invalid
from app.extensions import db

FOLDER = "dashboard/account"


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/account/email", "account_email", ask)
    blueprint.add_url_rule("/account/email", "account_email_write", save, methods=["POST"])


def ask() -> ResponseReturnValue:
    return page(OwnEmailForm(None, owner=user()))


def page(form: OwnEmailForm, status: int = 200) -> Response:
    return pages.page(
        f"{FOLDER}/page_of.html",
        f"{FOLDER}/_email.html",
        status=status,
        here="account",
        form=form,
        heading="Change your e-mail address",
    )


def save() -> ResponseReturnValue:
    """Whoever has the address can ask for a new password: an open session alone may not say which it is."""
    form = OwnEmailForm(sent(), owner=user())
    if form.validate():
        proofs.ask_password(form, "own_password")
    if form.problems:
        return page(form, proofs.status_of(form))
    begin_write(db.session)
    row, old = db.session.get_one(User, user().id), user().email
    try:
        services.update_user(row, {"email": form.new_email.data})
    except Invalid as invalid:
        db.session.rollback()
        form.reject("new_email", invalid.errors[0].title, invalid.errors[0].code)
        return page(form, 422)
    if row.email != old:
        security_mail.told().email_is_changed(row, old)
    db.session.commit()
    return saved(f"You sign in with {form.new_email.data} from now on.")


def saved(message: str) -> ResponseReturnValue:
    to = url_for("dashboard.account", _anchor="email")
    if not pages.is_fragment():
        return pages.sent_on(message, to)
    flash(message)
    return Response(headers={"HX-Redirect": url_for("dashboard.account")})
