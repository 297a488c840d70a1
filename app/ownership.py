"""Is this row there, and is it this user's?"""

from __future__ import annotations

from typing import Any, TypeVar

from sqlalchemy import select

from app.accounts.models import User
from app.errors import NotThere
from app.extensions import db

Row = TypeVar("Row", bound=Any)
MOST = 2**63 - 1  # what a database can ask for


def get_owned(user: User, model: type[Row], id: int) -> Row:
    """The user's row of `model`. Another user's is NotThere, exactly as one that never was."""
    row: Row | None = None
    if 0 < id <= MOST:
        row = db.session.scalar(select(model).where(model.id == id, model.user_id == user.id))
    if row is None:
        raise NotThere(words_of(model))
    return row


def words_of(model: type[Any]) -> str:
    """`NotificationHandler` → `notification handler`."""
    return str(model.__tablename__).replace("_", " ")
