"""Access to a workspace: who acts there, what the role may do, and the rows that belong to it."""

# see docs/decisions/2026-11-25-workspaces.md
from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple, TypeVar, cast

from sqlalchemy import Select, bindparam, select

from app.accounts.models import User
from app.core.database import PersonalRow, read_columns
from app.core.errors import FieldError, Forbidden, NotFound
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l


class Access(NamedTuple):
    """A user in a workspace. An edge finds it once a request; services and forms take it as it is."""

    user: User
    workspace_id: int
    role: str

    @property
    def row_columns(self) -> dict[str, int]:
        """The columns of a new row that say whose it is and who made it."""
        return {"workspace_id": self.workspace_id, "user_id": self.user.id}


OWNER, EDITOR, VIEWER = "owner", "editor", "viewer"
ROLES = {OWNER: _l("Owner"), EDITOR: _l("Editor"), VIEWER: _l("Viewer")}

ALL, WRITERS, OWNERS = frozenset(ROLES), frozenset({OWNER, EDITOR}), frozenset({OWNER})
RIGHTS = {
    "read": ALL,  # rows and statistics, their exports, and trying a link as a visitor
    "read_secrets": WRITERS,  # what handlers are set to, passwords, and addresses of shared statistics
    "write": WRITERS,  # links, pixels, handlers, projects, imports, the trash, share addresses
    "write_domains": OWNERS,
    "write_workspace": OWNERS,  # its name, its members, its deletion
    "read_audit_log": OWNERS,  # what all members did in it; everybody reads what concerns themselves
}
REFUSALS = {
    "read_secrets": _l("Your role in this workspace is viewer: it does not see passwords and other secrets."),
    "write_domains": _l("Only owners of this workspace can change its domains."),
    "write_workspace": _l("Only owners of this workspace can change it and its members."),
    "read_audit_log": _l("Only owners of this workspace see its audit log."),
}
REFUSED = _l("Your role in this workspace is viewer: it can read, but not change anything.")


def may(access: Access, action: str) -> bool:
    return access.role in RIGHTS[action]


def require(access: Access, action: str) -> None:
    """Raises Forbidden where the role may not take the action."""
    if not may(access, action):
        raise Forbidden(FieldError(REFUSALS.get(action, REFUSED), "role"))


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
