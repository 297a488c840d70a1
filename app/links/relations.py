"""Relations of a link: its pixels, handlers, project, domain and tags.

The rows are read again inside the write, and locked against deletion: since the form's check any of them may
have been deleted.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, TypeVar

from sqlalchemy import Table, select
from sqlalchemy.orm.attributes import set_committed_value

from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.domains.models import Domain
from app.i18n.messages import lazy_gettext as _l
from app.links.models import Link, LinkTag
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project

Row = TypeVar("Row", bound=Any)


def own_rows(workspace_id: int, model: type[Row], ids: Collection[int], field: str) -> list[Row]:
    """All of these rows of the user, locked against deletion. Raises Invalid if one is missing."""
    if not ids:
        return []
    mine = select(model).where(model.workspace_id == workspace_id, model.id.in_(ids)).order_by(model.id)
    # on PostgreSQL others can still change them meanwhile, but not delete them
    found = list(db.session.scalars(mine.with_for_update(read=True, key_share=True)))
    if missing := set(ids) - {row.id for row in found}:
        named = ", ".join(map(str, sorted(missing)))
        raise Invalid(FieldError(_l("You have none with the id %(named)s.", named=named), "not_found", field))
    return found


def attachments(workspace_id: int, changes: dict[str, Any]) -> dict[str, Any]:
    """The pixels and handlers of `changes` as rows, by the link's attribute. Raises Invalid, also for the
    project and the domain."""
    found: dict[str, Any] = {}
    if "pixels_ids" in changes:
        found["pixels"] = own_rows(workspace_id, Pixel, changes["pixels_ids"], "pixels_ids")
    if "email_reports" in changes:
        found["handlers"] = own_rows(
            workspace_id, NotificationHandler, changes["email_reports"], "email_reports"
        )
    if project_id := changes.get("project_id"):
        own_rows(workspace_id, Project, [project_id], "project_id")
    if domain_id := changes.get("domain_id"):
        refuse_unusable(own_rows(workspace_id, Domain, [domain_id], "domain_id")[0])
    return found


def refuse_unusable(domain: Domain) -> None:
    if not (domain.is_verified and domain.is_enabled):
        raise Invalid(FieldError(_l("This domain is not verified, or is turned off."), "domain", "domain_id"))


def attach(link: Link, found: dict[str, Any], changes: dict[str, Any]) -> None:
    for name, rows in found.items():
        setattr(link, name, rows)
    if "tags" in changes:
        link.tag_rows = [LinkTag(tag=tag, position=i) for i, tag in enumerate(changes["tags"])]


def attach_first(link: Link, found: dict[str, Any], changes: dict[str, Any]) -> None:
    """The same for a link that was just inserted: that nothing is attached yet need not be read."""
    for name in (*found, *(["tag_rows"] if "tags" in changes else ())):
        set_committed_value(link, name, [])
    attach(link, found, changes)


def attached_ids(link: Link, table: Table, column: str) -> list[int]:
    """The ids of a link's pixels or handlers, without reading their rows."""
    found = select(table.c[column]).where(table.c.link_id == link.id).order_by(table.c[column])
    return list(db.session.scalars(found))
