"""Sign-in in a second tab, while the first keeps the form whose session was over."""

from __future__ import annotations

from flask import render_template
from flask.typing import ResponseReturnValue
from flask_login import current_user
from flask_wtf.csrf import generate_csrf

from app.dashboard.auth import login
from app.dashboard.shared.blueprint import blueprint


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
