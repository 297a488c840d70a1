"""Users page for admins: the list of users, and the actions on them, with the texts that explain these."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

from flask import Response, abort, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import Select, func, or_, select

from app.accounts import invitations, standing
from app.accounts.access import MAX_ID
from app.accounts.deletion import leaving
from app.accounts.models import ApiKey, Passkey, SecondFactor, User
from app.accounts.oidc import identities
from app.core import clock
from app.core.database import begin_write
from app.core.errors import FieldError, Invalid, NotFound
from app.core.extensions import db
from app.dashboard.auth.access import admins_only, current_security_mail, signed_in_user
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.auth.single_sign_on import find_provider, require_provider
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.words import TABLE, words_for
from app.i18n.messages import gettext
from app.i18n.messages import lazy_gettext as _l
from app.input.listing import contains
from app.input.params import ParamReader
from app.input.parsers import parse_integer
from app.links.models import Link
from app.web.body import read_params

YOURSELF = _l("This is your own account. You can delete it on the account page.")


class UserAction(NamedTuple):
    """One action on a user. `words`: what it means, a sentence each."""

    heading: str
    words: Sequence[str]
    save: str
    is_done: str  # a message with the slot `name`
    service: Callable[[User], None]
    is_danger: bool = False
    undo: str = ""
    is_for_others: bool = False


def user_action(name: str, service: Callable[[User], None], **options: Any) -> UserAction:
    is_done = TABLE["user_actions"][name]["is_done"]  # worded once its slot is known
    return UserAction(**{**words_for("user_actions")[name], "is_done": is_done}, service=service, **options)


def reset_two_factor(user: User) -> None:
    current_security_mail().reset_two_factor(user)


def allow_single_sign_on(user: User) -> None:
    if not user.is_own_address(user.email):
        text = _l(
            "The e-mail address of this account is not confirmed. The user can link it with the password."
        )
        raise Invalid(FieldError(text, "unverified_email"))
    identities.allow(user, require_provider().issuer)


def unlink_single_sign_on(user: User) -> None:
    identities.unlink(user, require_provider().issuer)


ON_OTHERS = {"is_danger": True, "is_for_others": True}
ACTIONS: Mapping[str, UserAction] = {
    "admin": user_action("admin", standing.make_admin),
    "not-admin": user_action("not-admin", standing.unmake_admin),
    "reset-two-factor": user_action("reset-two-factor", reset_two_factor, **ON_OTHERS),
    "allow-single-sign-on": user_action("allow-single-sign-on", allow_single_sign_on),
    "unlink-single-sign-on": user_action("unlink-single-sign-on", unlink_single_sign_on, **ON_OTHERS),
    "disable": user_action("disable", standing.disable, undo="enable", **ON_OTHERS),
    "enable": user_action("enable", standing.enable),
    "delete": user_action("delete", leaving.leave, undo="restore", **ON_OTHERS),
    "restore": user_action("restore", leaving.come_back),
}


FOLDER = "dashboard/users"
PAGE_SIZE = 50
MAX_PAGE = 100_000


@blueprint.get("/users/", endpoint="users")
@admins_only
def show_list() -> ResponseReturnValue:
    return rendering.render_in(FOLDER, "list", here="users", **rows())


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
    return rendering.render_in(
        FOLDER,
        "ask",
        status,
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
    return show_list_again(message, undo)


def show_list_again(message: str, undo: str = "") -> ResponseReturnValue:
    return rendering.show_list(
        message,
        url_for("dashboard.users"),
        lambda: render_template(f"{FOLDER}/_list.html", **rows()),
        undo=undo,
    )


def refuse_oneself(row: User, chosen: UserAction) -> None:
    if chosen.is_for_others and row.id == signed_in_user().id:
        raise Invalid(FieldError(YOURSELF, "yourself"))


def gone_from_here(message: str) -> ResponseReturnValue:
    """Redirect to the start page: a user who has just ceased to be admin cannot see this one."""
    return rendering.leave_page(message, url_for("dashboard.home"))
