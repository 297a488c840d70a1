"""Unsubscribe page of e-mail handlers. It needs no account."""

from __future__ import annotations

from flask import Blueprint, Flask, abort, render_template
from flask.typing import ResponseReturnValue

from app.core.database import begin_write
from app.core.extensions import db
from app.notifications import unsubscribe
from app.notifications.models import NotificationHandler

blueprint = Blueprint("stopping", __name__, url_prefix="/dashboard/stop")


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)


@blueprint.get("/<token>")
def ask(token: str) -> ResponseReturnValue:
    """A page with a button: mail servers that open links to check them must not unsubscribe."""
    return render_page(handler_of(token), token)


@blueprint.post("/<token>")
def stop(token: str) -> ResponseReturnValue:
    """RFC 8058: a mail program sends this by itself, with no cookie and no CSRF token."""
    begin_write(db.session)
    handler = handler_of(token)
    unsubscribe.stop(handler)
    db.session.commit()
    return render_page(handler, token)


def handler_of(token: str) -> NotificationHandler:
    handler = unsubscribe.handler_of(db.session, token)
    return handler or abort(404)


def render_page(handler: NotificationHandler, token: str) -> ResponseReturnValue:
    return render_template("accounts/stop.html", is_on=handler.is_enabled, token=token)
