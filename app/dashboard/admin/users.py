"""How does an admin see who uses this instance, and let somebody in or out?"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from flask import Blueprint, Response, abort, flash, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Select, func, or_, select

from app import clock
from app.accounts import invitations, standing
from app.accounts.models import ApiKey, SecondFactor, User
from app.bodies import read_query
from app.dashboard import pages
from app.dashboard.admins import admins_only
from app.dashboard.guard import user
from app.dashboard.reauthentication import reauthenticated
from app.dashboard.user_actions import ACTIONS, YOURSELF, Action
from app.database import begin_write
from app.errors import FieldError, Invalid, NotThere
from app.extensions import db
from app.links.models import Link
from app.ownership import MOST
from app.params import ParamReader
from app.reading import whole

FOLDER = "dashboard/users"
AT_ONCE = 50
MAX_PAGE = 100_000


def register(blueprint: Blueprint) -> None:
    change_url = "/users/<int:id>/<action>"
    blueprint.add_url_rule("/users/", "users", admins_only(show_list))
    blueprint.add_url_rule(change_url, "users_change", admins_only(ask))
    write = admins_only(reauthenticated(change, ask))
    blueprint.add_url_rule(change_url, "users_change_write", write, methods=["POST"])


def show_list() -> ResponseReturnValue:
    return pages.page(f"{FOLDER}/list.html", f"{FOLDER}/_list.html", here="users", **rows())


def rows() -> dict[str, Any]:
    """A page of users with what there is to say of each, and the invitations that are open."""
    reader = ParamReader(dict(read_query()), ignores_empty=True)
    search = reader.read("search", "", str)
    reader.require_valid()
    page = reader.read("page", 1, lambda text: whole(text, 1, MAX_PAGE))  # what is no page is the first
    wanted = matching(search)
    total = db.session.scalar(select(func.count()).select_from(wanted.subquery())) or 0
    found = db.session.scalars(wanted.order_by(User.id).offset((page - 1) * AT_ONCE).limit(AT_ONCE)).all()
    ids = [row.id for row in found]
    return {
        "users": found,
        "links": counts_of(ids),
        "seen": last_seen(ids),
        "with_codes": with_codes(ids),
        "state_of": standing.state_of,
        "gone_from": standing.gone_from,
        "search": search,
        "total": total,
        "page": page,
        "total_pages": max(1, -(-total // AT_ONCE)),
        "invitations": invitations.open_ones(),
        "zone": pages.zone(),
        "now": clock.now(),
    }


def matching(search: str) -> Select[User]:
    query = select(User).where(
        or_(User.deleted_datetime.is_(None), User.deleted_datetime > clock.now() - standing.KEPT)
    )
    if not search:
        return query
    text = search.lower()
    return query.where(
        or_(
            func.lower(User.email).contains(text, autoescape=True),
            func.lower(User.name).contains(text, autoescape=True),
        )
    )


def counts_of(ids: Sequence[int]) -> dict[int, int]:
    counted = select(Link.user_id, func.count()).where(Link.user_id.in_(ids)).group_by(Link.user_id)
    return {row[0]: row[1] for row in db.session.execute(counted)}


def last_seen(ids: Sequence[int]) -> dict[int, dt.datetime]:
    """When each last used the dashboard or an API key."""
    seen = select(User.id, User.seen_datetime).where(User.id.in_(ids))
    used = select(ApiKey.user_id, func.max(ApiKey.last_datetime)).where(ApiKey.user_id.in_(ids))
    found: dict[int, dt.datetime] = {}
    for user_id, moment in db.session.execute(seen.union_all(used.group_by(ApiKey.user_id))):
        if moment is not None:
            found[user_id] = max(moment, found.get(user_id, moment))
    return found


def with_codes(ids: Sequence[int]) -> set[int]:
    """Who is asked for a code at the sign-in."""
    on = SecondFactor.user_id.in_(ids), SecondFactor.confirmed_datetime.is_not(None)
    return set(db.session.scalars(select(SecondFactor.user_id).where(*on)))


def found(id: int, action: str) -> tuple[User, Action]:
    """Raises NotThere."""
    if action not in ACTIONS:
        abort(404)
    row = db.session.get(User, id) if 0 < id <= MOST else None
    if row is None or standing.is_over(row):
        raise NotThere("user")
    return row, ACTIONS[action]


def ask(id: int, action: str) -> ResponseReturnValue:
    row, chosen = found(id, action)
    return asked(row, action, chosen)


def asked(
    row: User, action: str, chosen: Action, problem: FieldError | None = None, status: int = 200
) -> Response:
    return pages.page(
        f"{FOLDER}/page.html",
        f"{FOLDER}/_ask.html",
        status=status,
        here="users",
        row=row,
        action=action,
        chosen=chosen,
        heading=chosen.heading,
        problem=problem and problem.title,
    )


def change(id: int, action: str) -> ResponseReturnValue:
    begin_write(db.session)
    row, chosen = found(id, action)
    try:
        refuse_oneself(row, chosen)
        chosen.service(row)
        db.session.commit()
    except Invalid as invalid:
        db.session.rollback()
        return asked(row, action, chosen, invalid.errors[0], 422)
    message = chosen.is_done.format(name=row.name or row.email)
    undo = url_for("dashboard.users_change_write", id=id, action=chosen.undo) if chosen.undo else ""
    if not user().is_admin:  # of one's own rights
        return gone_from_here(message)
    if not pages.is_fragment():
        return pages.sent_on(message, url_for("dashboard.users"), undo=undo)
    part = render_template(f"{FOLDER}/_list.html", **rows())
    return pages.swapped(message, part, "#results", "innerHTML", undo=undo)


def refuse_oneself(row: User, chosen: Action) -> None:
    if chosen.is_for_others and row.id == user().id:
        raise Invalid(FieldError(YOURSELF, "yourself"))


def gone_from_here(message: str) -> ResponseReturnValue:
    """This page is not there for who has just ceased to be admin."""
    if not pages.is_fragment():
        return pages.sent_on(message, url_for("dashboard.home"))
    flash(message)
    return Response(headers={"HX-Redirect": url_for("dashboard.home")})
