"""The list of the trash, with its filter and orders."""

from __future__ import annotations

from collections.abc import Sequence

from app.input.listing import Listing, one_of
from app.trash.models import Trashed

# the kinds of rows that a trash may hold, by the names of their tables
KINDS: Sequence[str] = ("link", "pixel", "notification_handler")

LISTING = Listing(
    model=Trashed,
    filters={"type": lambda text, params: Trashed.kind == one_of(KINDS)(text)},  # noqa: ARG005
    orders={"trash_id": Trashed.id, "datetime": Trashed.deleted_datetime},
)
