"""Finds a workspace's row, or a member's personal row, by its id."""

from __future__ import annotations

from functools import cache
from typing import Any, TypeVar, cast

from sqlalchemy import Select, bindparam, select

from app.accounts.access import Access
from app.core.database import PersonalRow, read_columns
from app.core.errors import NotFound
from app.core.extensions import db

Row = TypeVar("Row", bound=Any)
MAX_ID = 2**63 - 1  # the largest integer that both databases take


def get_owned(access: Access, model: type[Row], id: int) -> Row:
    """The workspace's row of `model`, or the user's own where rows are personal.

    Raises NotFound for another's row, exactly as for a missing one.
    """
    row: Row | None = None
    if 0 < id <= MAX_ID:
        row = db.session.scalar(query_of(cast("Any", model)), values_of(access, id))
    if row is None:
        raise NotFound(words_of(model))
    return row


def read_owned(access: Access, model: type[Any], id: int) -> Any:
    """The columns of the workspace's row, for showing it. Raises NotFound as `get_owned` does."""
    row = None
    if 0 < id <= MAX_ID:
        query = columns_query_of(cast("Any", model))
        row = db.session.connection().execute(query, values_of(access, id)).first()
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
    found = found.where(model.id == bindparam("id"), model.workspace_id == bindparam("workspace_id"))
    return found.where(model.user_id == bindparam("user_id")) if issubclass(model, PersonalRow) else found


def values_of(access: Access, id: int) -> dict[str, int]:
    """The parameters of `only_owned`."""
    return {"id": id, **access.row_columns}


def words_of(model: type[Any]) -> str:
    """`NotificationHandler` → `notification handler`."""
    return str(model.__tablename__).replace("_", " ")
