"""Actor of a change: who makes it and by which way. An edge sets it once a request; changes store it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import NamedTuple

from app.core.database import AnySession
from app.core.extensions import db


class Actor(NamedTuple):
    """Who makes a change.

    `way`: `dashboard`, `many` (links at once), `api`, `import`, `command` (the operator on the machine), or
    `` for Waypost itself. `name`: of the person, the API key or the file, or the operator's login.
    `user_id`, `email` and `key_prefix` identify the account and the API key, where there is one. `batch` is
    the same for all changes that are undone as one, "" where each stands alone. `workspace_id`: the workspace
    that the change is made in, where there is one.
    """

    way: str = ""
    name: str = ""
    user_id: int | None = None
    email: str = ""
    key_prefix: str = ""
    batch: str = ""
    workspace_id: int | None = None


class Origin(NamedTuple):
    """Where a request came from: a /24 or a /48 network, never an address, and the request's id."""

    network: str = ""
    request_id: str = ""


WAYPOST = Actor()
# the actor where no request has set one; a command sets it for as long as it runs
_process_actor: ContextVar[Actor] = ContextVar("actor", default=WAYPOST)


def act_as(actor: Actor) -> None:
    """Sets the actor for as long as this request's session lives."""
    db.session.info["actor"] = actor


def acting(session: AnySession = db.session) -> Actor:
    found: Actor = session.info.get("actor", _process_actor.get())
    return found


@contextmanager
def process_actor(actor: Actor) -> Iterator[None]:
    """Acts as `actor` wherever no request has set another one."""
    token = _process_actor.set(actor)
    try:
        yield
    finally:
        _process_actor.reset(token)


def set_origin(origin: Origin) -> None:
    """Sets the origin for as long as this request's session lives."""
    db.session.info["origin"] = origin


def origin(session: AnySession = db.session) -> Origin:
    found: Origin = session.info.get("origin", Origin())
    return found
