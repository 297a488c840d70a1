"""Page where the reader of an e-mail address agrees to get messages. It needs no account."""

from __future__ import annotations

from flask import Blueprint, Flask, abort, render_template
from flask.typing import ResponseReturnValue

from app.core.database import begin_write
from app.core.extensions import db
from app.notifications import confirmation
from app.notifications.models import NotificationHandler

blueprint = Blueprint("confirming", __name__, url_prefix="/dashboard/confirm")


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)


@blueprint.get("/<token>")
def ask(token: str) -> ResponseReturnValue:
    """A page with a button: mail servers that open links to check them must not confirm."""
    try:
        return render_page("done" if find_handler(token).is_confirmed else "ask", token)
    except confirmation.Expired:
        return render_page("expired", token), 410


@blueprint.post("/<token>")
def confirm(token: str) -> ResponseReturnValue:
    """Needs no CSRF token: the token in the address is known to the reader alone."""
    begin_write(db.session)
    try:
        confirmation.confirm(db.session, find_handler(token))
    except confirmation.Expired:
        db.session.rollback()
        return render_page("expired", token), 410
    db.session.commit()
    return render_page("done", token)


def find_handler(token: str) -> NotificationHandler:
    found = confirmation.find_handler(db.session, token)
    return found or abort(404)


def render_page(state: str, token: str) -> str:
    return render_template("accounts/confirm.html", state=state, token=token)
