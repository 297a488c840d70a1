"""Finds a user's own row by its id."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, cast

from sqlalchemy import Select, bindparam, select

from app.accounts.models import User
from app.core.database import read_columns
from app.core.errors import NotFound
from app.core.extensions import db

Row = TypeVar("Row", bound=Any)
MAX_ID = 2**63 - 1  # the largest integer that both databases take


def get_owned(user: User, model: type[Row], id: int) -> Row:
    """The user's row of `model`. Raises NotFound for another user's row, exactly as for a missing one."""
    row: Row | None = None
    if 0 < id <= MAX_ID:
        row = db.session.scalar(query_of(cast("Any", model)), {"id": id, "user_id": user.id})
    if row is None:
        raise NotFound(words_of(model))
    return row


def read_owned(user: User, model: type[Any], id: int) -> Any:
    """The columns of the user's row, for showing it. Raises NotFound as `get_owned` does."""
    row = None
    if 0 < id <= MAX_ID:
        values = {"id": id, "user_id": user.id}
        row = db.session.connection().execute(columns_query_of(cast("Any", model)), values).first()
    if row is None:
        raise NotFound(words_of(model))
    return row


@cache
def query_of(model: Any) -> Select[Any]:
    """The query, built once for each model: building it takes longer than running it."""
    return only_owned(select(model), model)


@cache
def columns_query_of(model: Any) -> Select[Any]:
    return only_owned(read_columns(model), model)


def only_owned(found: Select[Any], model: Any) -> Select[Any]:
    return found.where(model.id == bindparam("id"), model.user_id == bindparam("user_id"))


def words_of(model: type[Any]) -> str:
    """`NotificationHandler` → `notification handler`."""
    return str(model.__tablename__).replace("_", " ")
