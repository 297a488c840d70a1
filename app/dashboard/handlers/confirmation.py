"""Page where the reader of an e-mail address agrees to get messages. It needs no account."""

from __future__ import annotations

from flask import Blueprint, Flask, abort, render_template
from flask.typing import ResponseReturnValue

from app.database import begin_write
from app.extensions import db
from app.notifications import confirmation
from app.notifications.models import NotificationHandler

blueprint = Blueprint("confirming", __name__, url_prefix="/dashboard/confirm")


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)


@blueprint.get("/<token>")
def ask(token: str) -> ResponseReturnValue:
    """A button: mail servers that open links to look at them confirm nothing."""
    try:
        return page("done" if find_handler(token).is_confirmed else "ask", token)
    except confirmation.Expired:
        return page("expired", token), 410


@blueprint.post("/<token>")
def confirm(token: str) -> ResponseReturnValue:
    """Without a token of a session: the one in the address is known to the reader alone."""
    begin_write(db.session)
    try:
        confirmation.confirm(db.session, find_handler(token))
    except confirmation.Expired:
        db.session.rollback()
        return page("expired", token), 410
    db.session.commit()
    return page("done", token)


def find_handler(token: str) -> NotificationHandler:
    found = confirmation.find_handler(db.session, token)
    return found or abort(404)


def page(state: str, token: str) -> str:
    return render_template("accounts/confirm.html", state=state, token=token)
