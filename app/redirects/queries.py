"""SELECT statements for compiled links, hosts and the pages of links."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Column, and_, bindparam, case, exists, func, or_, select

from app.accounts.models import Workspace
from app.domains.models import Domain
from app.links.models import Alias, Link, link_pixel
from app.links.schema import PAGE, REDIRECT, SETTINGS
from app.pixels.models import Pixel

BATCH_SIZE = 200

# columns that every link has: what identifies it, and its destination
OF_EACH = (
    Alias.domain_id, Link.id, Link.workspace_id, Link.url, Link.location_url, Link.http_status_code,
    Link.password_version,
)  # fmt: skip
NAMES = tuple(column.key for column in OF_EACH)


def unset(column: Column[Any]) -> Any:
    """The value of a setting that is not set: null, or the column's default."""
    return None if column.nullable else column.default.arg  # type: ignore[union-attr]


# options, and their values if not set. Most links have none set, and take a third of the time and memory
OPTIONS = {
    name: unset(Link.__table__.c[name])
    for name, one in SETTINGS.items()
    if one.read_by == REDIRECT and name not in NAMES
}
# a title, a description or a picture of its own for the previews of chats and networks
CARD = ("cloaking_title", "cloaking_meta_description", "cloaking_opengraph")
OF_SOME: dict[Any, Any] = {
    **{getattr(Link, name): value for name, value in OPTIONS.items()},
    case((Link.targeting_type.is_not(None), Link.targeting)).label("targeting"): None,
    exists().where(link_pixel.c.link_id == Link.id).label("has_pixels"): False,
    or_(*(getattr(Link, name).is_not(None) for name in CARD)).label("has_card"): False,
}
NOTHING_SET = tuple(OF_SOME.values())
# nothing of a deleted workspace is served; the rows stay for 30 days
IS_HERE = Workspace.deleted_datetime.is_(None)
# a subquery of these few, not a join: SQLite would begin with the workspaces and sort all links of each
GONE = select(Workspace.id).where(Workspace.deleted_datetime.is_not(None))
LINK = (
    select(*OF_EACH, *OF_SOME)
    .join_from(Alias, Link, Link.id == Alias.link_id)
    .join(Workspace, Workspace.id == Link.workspace_id)
    .where(Alias.domain_id == bindparam("domain_id"), Alias.key == bindparam("key"), IS_HERE)
)
LINKS = (
    select(Alias.key, *OF_EACH, *OF_SOME)
    .join_from(Link, Alias, Alias.link_id == Link.id)
    .where(Link.id > bindparam("after"), Link.workspace_id.not_in(GONE))
    .order_by(Link.id)
    .limit(BATCH_SIZE)
)
NEWEST = select(func.max(Link.id))
DOMAINS = (
    select(
        Domain.id,
        Domain.workspace_id,
        Domain.host,
        and_(Domain.is_enabled, IS_HERE).label("is_enabled"),
        Domain.custom_index_url,
        Domain.custom_not_found_url,
    )
    .join(Workspace, Workspace.id == Domain.workspace_id)
    .where(Domain.is_verified)
)
# columns that only pages need: never cached, because a script alone may have 20,000 characters
PAGE_VALUES = select(*(getattr(Link, name) for name, one in SETTINGS.items() if one.read_by == PAGE)).where(
    Link.id == bindparam("link_id")
)
PIXELS = (
    select(Pixel.type, Pixel.pixel)
    .join(link_pixel, link_pixel.c.pixel_id == Pixel.id)
    .where(link_pixel.c.link_id == bindparam("link_id"))
    .order_by(Pixel.id)
)
