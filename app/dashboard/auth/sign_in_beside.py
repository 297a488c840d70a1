"""Sign-in where the session of a form was over: in a second tab, or with the form kept until after it."""

from __future__ import annotations

from flask import Response, render_template, request
from flask.typing import ResponseReturnValue
from flask_login import current_user
from flask_wtf.csrf import generate_csrf

from app.accounts.forms import SignInForm
from app.dashboard.auth import kept_forms, login
from app.dashboard.auth.access import SAFE, SignedOut
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _
from app.web.error_pages import error_response


@login.blueprint.get("/login/session")
def session_now() -> ResponseReturnValue:
    """Who is signed in, for a page that is about to send a form: the page may be older than the session."""
    if not current_user.is_authenticated:
        return {"account": None}
    return {"account": str(current_user.id), "email": current_user.email, "token": generate_csrf()}


@blueprint.get("/signed-in")
def signed_in() -> ResponseReturnValue:
    """The end of a sign-in in a second tab: it closes itself, or says that it may be closed."""
    return render_template("dashboard/signed_in.html")


@blueprint.errorhandler(SignedOut)
def keep_form(error: SignedOut) -> Response:
    """Answer a form whose session is over by the sign-in page, which keeps what was typed."""
    kept = "" if request.method in SAFE else kept_forms.keep_sent()
    if not kept:
        return error_response(error)
    why = _("You are signed out. What you typed is kept on this page: sign in to continue.")
    return login.sign_in_page(SignInForm(None, owner=None), why, status=401, kept=kept)
