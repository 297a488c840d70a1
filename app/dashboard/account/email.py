"""Page where an owner changes the e-mail address of the account."""

from __future__ import annotations

from flask import Response, url_for
from flask.typing import ResponseReturnValue

from app.accounts import services
from app.accounts.forms import OwnEmailForm
from app.accounts.models import User
from app.core.database import begin_write
from app.core.errors import Invalid
from app.core.extensions import db
from app.dashboard.auth import proofs
from app.dashboard.auth.access import current_security_mail, is_shown_again, signed_in_user, submitted_form
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _

FOLDER = "dashboard/account"


@blueprint.get("/account/email", endpoint="account_email")
def ask() -> ResponseReturnValue:
    return render_page(OwnEmailForm(None, owner=signed_in_user()))


def render_page(form: OwnEmailForm, status: int = 200) -> Response:
    return rendering.render_page(
        f"{FOLDER}/page_of.html",
        f"{FOLDER}/_email.html",
        status=status,
        here="account",
        form=form,
        heading=_("Change your e-mail address"),
    )


@blueprint.post("/account/email", endpoint="account_email_write")
def save() -> ResponseReturnValue:
    """Change the address. It can reset the password, so the form asks for the password, too."""
    form = OwnEmailForm(submitted_form(), owner=signed_in_user())
    if is_shown_again():
        return render_page(form)
    proofs.validate_with_password(form, "own_password")
    if form.problems:
        return render_page(form, proofs.status_of(form))
    begin_write(db.session)
    row, old = db.session.get_one(User, signed_in_user().id), signed_in_user().email
    try:
        services.update_user(row, {"email": form.new_email.data})
    except Invalid as invalid:
        db.session.rollback()
        form.reject("new_email", invalid.errors[0].title, invalid.errors[0].code)
        return render_page(form, 422)
    if row.email != old:
        current_security_mail().email_is_changed(row, old)
    db.session.commit()
    return saved(_("You sign in with %(email)s from now on.", email=form.new_email.data))


def saved(message: str) -> ResponseReturnValue:
    return rendering.leave_page(message, url_for("dashboard.account"), "email")
