"""Is this row there, and is it this user's?"""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, cast

from sqlalchemy import Select, bindparam, select

from app.accounts.models import User
from app.errors import NotThere
from app.extensions import db

Row = TypeVar("Row", bound=Any)
MOST = 2**63 - 1  # what a database can ask for


def get_owned(user: User, model: type[Row], id: int) -> Row:
    """The user's row of `model`. Another user's is NotThere, exactly as one that never was."""
    row: Row | None = None
    if 0 < id <= MOST:
        row = db.session.scalar(query_of(cast("Any", model)), {"id": id, "user_id": user.id})
    if row is None:
        raise NotThere(words_of(model))
    return row


@cache
def query_of(model: Any) -> Select[Any]:
    """Made once for each model: to make a query takes longer than to run it."""
    return select(model).where(model.id == bindparam("id"), model.user_id == bindparam("user_id"))


def words_of(model: type[Any]) -> str:
    """`NotificationHandler` → `notification handler`."""
    return str(model.__tablename__).replace("_", " ")
