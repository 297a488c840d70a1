"""Pages of the readers of an e-mail handler: they agree to its messages, or stop them. They need no account.

Each page has a button, for mail servers that open links to check them must change nothing. No CSRF token: the
token in the address is known to the reader alone.
"""

from __future__ import annotations

from flask import Blueprint, Flask, abort, render_template
from flask.typing import ResponseReturnValue

from app.core.database import begin_write
from app.core.extensions import db
from app.notifications import confirmation, unsubscribe
from app.notifications.models import NotificationHandler

confirming = Blueprint("confirming", __name__, url_prefix="/dashboard/confirm")
stopping = Blueprint("stopping", __name__, url_prefix="/dashboard/stop")


def init_app(app: Flask) -> None:
    app.register_blueprint(confirming)
    app.register_blueprint(stopping)


@confirming.get("/<token>", endpoint="ask")
def ask_to_confirm(token: str) -> ResponseReturnValue:
    try:
        return confirm_page("done" if unconfirmed(token).is_confirmed else "ask", token)
    except confirmation.Expired:
        return confirm_page("expired", token), 410


@confirming.post("/<token>")
def confirm(token: str) -> ResponseReturnValue:
    begin_write(db.session)
    try:
        confirmation.confirm(db.session, unconfirmed(token))
    except confirmation.Expired:
        db.session.rollback()
        return confirm_page("expired", token), 410
    db.session.commit()
    return confirm_page("done", token)


def unconfirmed(token: str) -> NotificationHandler:
    return confirmation.find_handler(db.session, token) or abort(404)


def confirm_page(state: str, token: str) -> str:
    return render_template("accounts/confirm.html", state=state, token=token)


@stopping.get("/<token>", endpoint="ask")
def ask_to_stop(token: str) -> ResponseReturnValue:
    return stop_page(stoppable(token), token)


@stopping.post("/<token>")
def stop(token: str) -> ResponseReturnValue:
    """RFC 8058: a mail program sends this by itself, with no cookie."""
    begin_write(db.session)
    handler = stoppable(token)
    unsubscribe.stop(handler)
    db.session.commit()
    return stop_page(handler, token)


def stoppable(token: str) -> NotificationHandler:
    return unsubscribe.handler_of(db.session, token) or abort(404)


def stop_page(handler: NotificationHandler, token: str) -> str:
    return render_template("accounts/stop.html", is_on=handler.is_enabled, token=token)
