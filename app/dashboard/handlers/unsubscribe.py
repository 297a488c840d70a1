"""What sees somebody who wants no more mails? He has no account, and needs none."""

from __future__ import annotations

from flask import Blueprint, Flask, abort, render_template
from flask.typing import ResponseReturnValue

from app.database import begin_write
from app.extensions import db
from app.notifications import stopping
from app.notifications.models import NotificationHandler

blueprint = Blueprint("stopping", __name__, url_prefix="/dashboard/stop")


def init_app(app: Flask) -> None:
    app.register_blueprint(blueprint)


@blueprint.get("/<token>")
def ask(token: str) -> ResponseReturnValue:
    """A button: what only opens addresses, as some mail servers do, ends nothing."""
    return page(handler_of(token), token)


@blueprint.post("/<token>")
def stop(token: str) -> ResponseReturnValue:
    """RFC 8058: a mail program sends this by itself, with no cookie and no token of a session."""
    begin_write(db.session)
    handler = handler_of(token)
    stopping.stop(handler)
    db.session.commit()
    return page(handler, token)


def handler_of(token: str) -> NotificationHandler:
    handler = stopping.handler_of(db.session, token)
    return handler or abort(404)


def page(handler: NotificationHandler, token: str) -> ResponseReturnValue:
    return render_template("accounts/stop.html", is_on=handler.is_enabled, token=token)
