"""Actions that sign an owner out in other browsers, one or all."""

from __future__ import annotations

from flask import url_for
from flask.typing import ResponseReturnValue

from app.accounts import sessions
from app.audit.services import record
from app.core.database import begin_write
from app.core.errors import NotFound
from app.core.extensions import db
from app.dashboard.auth.access import signed_in_user
from app.dashboard.auth.sessions import list_own, this_one
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _


@blueprint.post("/account/sessions/<int:id>/end", endpoint="sessions_end")
def end(id: int) -> ResponseReturnValue:
    """End another session of the owner. (This browser's session ends with the sign-out button.)"""
    row = next((row for row in list_own() if row.id == id), None)
    if row is None or row.id == this_one().id:
        raise NotFound("session")
    begin_write(db.session)
    sessions.end(row)
    record(db.session, "session.ended", account=signed_in_user())
    db.session.commit()
    return back(_("This browser is signed out."))


@blueprint.post("/account/sessions/end", endpoint="sessions_end_others")
def end_others() -> ResponseReturnValue:
    begin_write(db.session)
    ended = sessions.end_others(this_one())
    record(db.session, "session.ended", account=signed_in_user(), count=ended)
    db.session.commit()
    return back(_("Every other browser is signed out."))


def back(message: str) -> ResponseReturnValue:
    return rendering.redirect_with(message, url_for("dashboard.account", _anchor="sessions"))
