"""Saved views of the list of links: each keeps the query of the list under a name."""

# see docs/decisions/2026-11-24-filters-and-saved-views.md
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import ColumnElement, func, select

from app.accounts.access import Access
from app.accounts.models import User
from app.core.database import reread
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.i18n.messages import lazy_digits
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import Rejected, ResourceForm, TextField
from app.input.params import MAX_QUERY
from app.links.models import SavedView
from app.links.search_text import folded

MAX_VIEWS = 50  # of one user: all of them stand above the list


class SavedViewForm(ResourceForm):
    """A saved view: its name, and the query of the list."""

    name = TextField(_l("Name"), required=True, most=64)
    query = TextField(_l("What the list shows"), required=True, most=MAX_QUERY)

    def validate_name(self, field: TextField) -> None:
        if not field.data.strip():
            raise Rejected(_l("This can't be empty."), "required")


def views_of(access: Access) -> Sequence[SavedView]:
    """The user's own saved views of this workspace, in the order in which they were made."""
    return db.session.scalars(select(SavedView).where(*own(access)).order_by(SavedView.id)).all()


def own(access: Access) -> tuple[ColumnElement[bool], ...]:
    """The condition for this user's views in this workspace: what a list shows is each member's choice."""
    return SavedView.workspace_id == access.workspace_id, SavedView.user_id == access.user.id


def create(access: Access, changes: dict[str, Any]) -> SavedView:
    """Save a view from `changes`: a name and a query. Raises Invalid for a taken name, or one too many."""
    lock_views(access.user.id)
    number = db.session.scalar(select(func.count()).where(*own(access))) or 0
    if number >= MAX_VIEWS:
        text = _l("You have %(most)s saved views, the most there may be.", most=lazy_digits(MAX_VIEWS))
        raise Invalid(FieldError(text, "too_many", "name"))
    view = SavedView(
        **access.row_columns, key=free_key(access.workspace_id, access.user.id, changes["name"]), **changes
    )
    db.session.add(view)
    db.session.flush()
    return view


def update(view: SavedView, changes: dict[str, Any]) -> SavedView:
    """Change the name or the query. Raises Invalid for a taken name, NotFound where the view is gone."""
    lock_views(view.user_id)
    reread(db.session, view)
    if "name" in changes:
        view.key = free_key(view.workspace_id, view.user_id, changes["name"], but=view.id)
    for name, value in changes.items():
        setattr(view, name, value)
    db.session.flush()
    return view


def delete(view: SavedView) -> None:
    """Delete it. The links stay. Raises NotFound when it is gone already."""
    reread(db.session, view)
    db.session.delete(view)
    db.session.flush()


def lock_views(user_id: int) -> None:
    """Lets one request at a time change the user's views, so that each counts and compares all of them."""
    db.session.execute(select(User.id).where(User.id == user_id).with_for_update())


def free_key(workspace_id: int, user_id: int, name: str, but: int | None = None) -> str:
    """The name without regard to case. Raises Invalid where another view than `but` of the user has it."""
    key = folded(name)
    mine = SavedView.workspace_id == workspace_id, SavedView.user_id == user_id, SavedView.key == key
    found = select(SavedView.id).where(*mine)
    if db.session.scalar(found) not in {None, but}:
        raise Invalid(FieldError(_l("Another saved view has this name."), "taken", "name"))
    return key
