"""Who is changing things, and by which way? An edge says so once a request; what is changed keeps it."""

from __future__ import annotations

from typing import NamedTuple

from app.extensions import db


class Actor(NamedTuple):
    """`way`: `dashboard`, `many` (links at once), `api`, `import`, or `` for Waypost itself. `name`: of the
    person, of the API key, or of the file."""

    way: str = ""
    name: str = ""


def act_as(actor: Actor) -> None:
    """For as long as this request's session lives."""
    db.session.info["actor"] = actor


def acting() -> Actor:
    found: Actor = db.session.info.get("actor", Actor())
    return found
