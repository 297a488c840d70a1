"""Users page for admins: the list of users, and the actions on them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any

from flask import Response, abort, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Select, func, or_, select

from app.accounts import invitations, standing
from app.accounts.models import ApiKey, Passkey, SecondFactor, User
from app.accounts.oidc import identities
from app.accounts.ownership import MAX_ID
from app.core import clock
from app.core.database import begin_write
from app.core.errors import FieldError, Invalid, NotFound
from app.core.extensions import db
from app.dashboard.admin.user_actions import ACTIONS, YOURSELF, UserAction
from app.dashboard.auth.access import admins_only, signed_in_user
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.auth.single_sign_on import find_provider
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext
from app.input.listing import contains
from app.input.params import ParamReader
from app.input.parsers import parse_integer
from app.links.models import Link
from app.web.body import read_params

FOLDER = "dashboard/users"
PAGE_SIZE = 50
MAX_PAGE = 100_000


@blueprint.get("/users/", endpoint="users")
@admins_only
def show_list() -> ResponseReturnValue:
    return rendering.render_page(f"{FOLDER}/list.html", f"{FOLDER}/_list.html", here="users", **rows())


def rows() -> dict[str, Any]:
    """One page of users with link counts, last use and two-factor state, and the open invitations."""
    reader = ParamReader(read_params(), ignores_empty=True)
    search = reader.read("search", "", str)
    reader.require_valid()
    page = reader.read(
        "page", 1, lambda text: parse_integer(text, 1, MAX_PAGE)
    )  # an invalid number means the first page
    wanted = matching(search)
    total = db.session.scalar(select(func.count()).select_from(wanted.subquery())) or 0
    found = db.session.scalars(wanted.order_by(User.id).offset((page - 1) * PAGE_SIZE).limit(PAGE_SIZE)).all()
    ids = [row.id for row in found]
    return {
        "users": found,
        "links": counts_of(ids),
        "seen": last_seen(ids),
        "with_codes": with_codes(ids),
        "linked": linked_to_provider(ids),
        "state_of": standing.state_of,
        "gone_from": standing.gone_from,
        "search": search,
        "total": total,
        "page": page,
        "total_pages": max(1, -(-total // PAGE_SIZE)),
        "invitations": invitations.open_ones(),
        "zone": rendering.owner_zone(),
        "now": clock.now(),
    }


def matching(search: str) -> Select[User]:
    query = select(User).where(
        or_(User.deleted_datetime.is_(None), User.deleted_datetime > clock.now() - standing.RETENTION)
    )
    if not search:
        return query
    return query.where(contains(search, User.email, User.name))


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
    """Ids of the users whose sign-in asks for a two-factor code or a passkey."""
    on = SecondFactor.user_id.in_(ids), SecondFactor.confirmed_datetime.is_not(None)
    with_app = select(SecondFactor.user_id).where(*on)
    with_passkey = select(Passkey.user_id).where(Passkey.user_id.in_(ids))
    return set(db.session.scalars(with_app.union(with_passkey)))


def linked_to_provider(ids: Sequence[int]) -> set[int]:
    """Ids of the users who are linked to single sign-on."""
    provider = find_provider()
    return identities.linked_among(ids, provider.issuer) if provider else set()


def found(id: int, action: str) -> tuple[User, UserAction]:
    """The user and the action. Raises NotFound."""
    if action not in ACTIONS:
        abort(404)
    row = db.session.get(User, id) if 0 < id <= MAX_ID else None
    if row is None or standing.is_over(row):
        raise NotFound("user")
    return row, ACTIONS[action]


@blueprint.get("/users/<int:id>/<action>", endpoint="users_change")
@admins_only
def ask(id: int, action: str) -> ResponseReturnValue:
    row, chosen = found(id, action)
    return render_action_dialog(row, action, chosen)


def render_action_dialog(
    row: User, action: str, chosen: UserAction, problem: FieldError | None = None, status: int = 200
) -> Response:
    return rendering.render_page(
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


@blueprint.post("/users/<int:id>/<action>", endpoint="users_change_write")
@admins_only
@reauthenticated(ask)
def change(id: int, action: str) -> ResponseReturnValue:
    begin_write(db.session)
    row, chosen = found(id, action)
    try:
        refuse_oneself(row, chosen)
        chosen.service(row)
        db.session.commit()
    except Invalid as invalid:
        db.session.rollback()
        return render_action_dialog(row, action, chosen, invalid.errors[0], 422)
    message = gettext(chosen.is_done, name=row.name or row.email)
    undo = url_for("dashboard.users_change_write", id=id, action=chosen.undo) if chosen.undo else ""
    if not signed_in_user().is_admin:  # admins can take their own rights away
        return gone_from_here(message)
    if not rendering.is_fragment():
        return rendering.redirect_with(message, url_for("dashboard.users"), undo=undo)
    part = render_template(f"{FOLDER}/_list.html", **rows())
    return rendering.swap_part(message, part, "#results", "innerHTML", undo=undo)


def refuse_oneself(row: User, chosen: UserAction) -> None:
    if chosen.is_for_others and row.id == signed_in_user().id:
        raise Invalid(FieldError(YOURSELF, "yourself"))


def gone_from_here(message: str) -> ResponseReturnValue:
    """Redirect to the start page: a user who has just ceased to be admin cannot see this one."""
    return rendering.leave_page(message, url_for("dashboard.home"))
