"""Where is an owner signed in, and how does that end?"""

from __future__ import annotations

from flask import Blueprint, url_for
from flask.typing import ResponseReturnValue

from app.accounts import sessions
from app.audit.services import record
from app.dashboard import pages
from app.dashboard.guard import user
from app.dashboard.sessions import list_own, this_one
from app.database import begin_write
from app.errors import NotThere
from app.extensions import db


def register(blueprint: Blueprint) -> None:
    rule = blueprint.add_url_rule
    rule("/account/sessions/<int:id>/end", "sessions_end", end, methods=["POST"])
    rule("/account/sessions/end", "sessions_end_others", end_others, methods=["POST"])


def end(id: int) -> ResponseReturnValue:
    """One of the owner's others. (This browser has a button of its own: it signs out.)"""
    row = next((row for row in list_own() if row.id == id), None)
    if row is None or row.id == this_one().id:
        raise NotThere("session")
    begin_write(db.session)
    sessions.end(row)
    record(db.session, "session.ended", account=user())
    db.session.commit()
    return back("This browser is signed out.")


def end_others() -> ResponseReturnValue:
    begin_write(db.session)
    ended = sessions.end_others(this_one())
    record(db.session, "session.ended", account=user(), count=ended)
    db.session.commit()
    return back("Every other browser is signed out.")


def back(message: str) -> ResponseReturnValue:
    return pages.sent_on(message, url_for("dashboard.account", _anchor="sessions"))
