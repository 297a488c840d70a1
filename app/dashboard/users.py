"""How does an admin see who uses this instance, and let somebody in or out?"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from flask import Blueprint, Response, abort, flash, render_template, request, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Select, func, or_, select

from app import clock
from app.accounts import invitations, standing
from app.accounts.models import ApiKey, User
from app.dashboard import pages
from app.dashboard.admins import admins_only
from app.dashboard.guard import user
from app.database import begin_write
from app.departures import leaving
from app.errors import FieldError, Invalid, NotThere
from app.extensions import db
from app.links.models import Link
from app.ownership import MOST

FOLDER = "dashboard/users"
AT_ONCE = 50
YOURSELF = "This is your own account. You can delete it on the account page."


class Action(NamedTuple):
    """One thing to do with a user. `words`: what it means, a sentence each."""

    heading: str
    words: Sequence[str]
    save: str
    service: Callable[[User], None]
    is_done: str  # as a text with a place for the name
    is_danger: bool = False
    undo: str = ""
    is_for_others: bool = False


ACTIONS: Mapping[str, Action] = {
    "admin": Action(
        "Make this user admin?",
        (
            "Admins look after users, invitations and this instance.",
            "They do not see other users' links or statistics.",
        ),
        "Make admin",
        standing.make_admin,
        "{name} is admin now.",
    ),
    "not-admin": Action(
        "Take the admin's rights away?",
        ("The user keeps everything else. Invitations that this admin made no longer open.",),
        "Take rights away",
        standing.unmake_admin,
        "{name} is no admin any more.",
    ),
    "disable": Action(
        "Disable this user?",
        (
            "Nobody can sign in to this account any more. Its sessions and API keys stop at once.",
            "Its links go on, with their reports and messages: visitors notice nothing.",
            "You can enable it again whenever you like.",
        ),
        "Disable user",
        standing.disable,
        "{name} is disabled.",
        is_danger=True,
        undo="enable",
        is_for_others=True,
    ),
    "enable": Action(
        "Enable this user?",
        ("The password and the API keys work again as before.",),
        "Enable user",
        standing.enable,
        "{name} is enabled again.",
    ),
    "delete": Action(
        "Delete this user?",
        (
            "All links of this user stop at once: visitors are told that there is no such page.",
            "Sessions and API keys stop too, and no more messages are sent.",
            "For 30 days you can undo this. Then links, visits, pictures and history are gone for good.",
        ),
        "Delete user",
        leaving.leave,
        "{name} is deleted.",
        is_danger=True,
        undo="restore",
        is_for_others=True,
    ),
    "restore": Action(
        "Bring this user back?",
        ("All links answer again, and the password and the API keys work as before.",),
        "Bring back",
        leaving.come_back,
        "{name} is back.",
    ),
}


def register(blueprint: Blueprint) -> None:
    change_url = "/users/<int:id>/<action>"
    blueprint.add_url_rule("/users/", "users", admins_only(show_list))
    blueprint.add_url_rule(change_url, "users_change", admins_only(ask))
    blueprint.add_url_rule(change_url, "users_change_write", admins_only(change), methods=["POST"])


def show_list() -> ResponseReturnValue:
    return pages.page(f"{FOLDER}/list.html", f"{FOLDER}/_list.html", here="users", **rows())


def rows() -> dict[str, Any]:
    """A page of users with what there is to say of each, and the invitations that are open."""
    search = request.args.get("search", "")[:320]
    number = request.args.get("page", "")
    page = min(int(number), 100_000) if number.isascii() and number.isdigit() and number.strip("0") else 1
    wanted = matching(search)
    total = db.session.scalar(select(func.count()).select_from(wanted.subquery())) or 0
    found = db.session.scalars(wanted.order_by(User.id).offset((page - 1) * AT_ONCE).limit(AT_ONCE)).all()
    ids = [row.id for row in found]
    return {
        "users": found,
        "links": counts_of(ids),
        "seen": last_seen(ids),
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


def last_seen(ids: Sequence[int]) -> dict[int, Any]:
    """When each last used an API key."""
    newest = func.max(ApiKey.last_datetime)
    used = select(ApiKey.user_id, newest).where(ApiKey.user_id.in_(ids)).group_by(ApiKey.user_id)
    return {row[0]: row[1] for row in db.session.execute(used)}


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
