"""Invalidation of compiled links. Each is named in the transaction that makes the change."""

from __future__ import annotations

from typing import cast

from sqlalchemy import Connection, Table, delete, event, insert, select
from sqlalchemy.orm import Mapper

from app.core.extensions import db
from app.core.wakeups import LINK_CHANGES, wake_on_insert
from app.domains.models import Domain
from app.links.aliases import key_of
from app.links.models import Alias, Link, PlanChange, link_pixel
from app.pixels.models import Pixel

INSERT = insert(PlanChange.__table__)  # past the ORM, which makes an insert thrice as slow
wake_on_insert(cast("Table", PlanChange.__table__), LINK_CHANGES)


def place_of(link: Link) -> tuple[int, str]:
    """The domain id (0 for the instance's own hosts) and the alias's key under which a link answers."""
    return link.domain_id or 0, key_of(link.url)


def invalidate(*places: tuple[int, str]) -> None:
    """Have every process drop its compiled links of these domains and aliases."""
    rows = [{"domain_id": domain_id, "alias": key} for domain_id, key in dict.fromkeys(places)]
    db.session.execute(INSERT, rows)


@event.listens_for(Pixel, "after_update")
@event.listens_for(Pixel, "before_delete")
def invalidate_links_of(mapper: Mapper[Pixel], connection: Connection, pixel: Pixel) -> None:  # noqa: ARG001
    """Invalidate the links of a changed pixel. A listener, because the pixels' package knows no links."""
    users = select(link_pixel.c.link_id).where(link_pixel.c.pixel_id == pixel.id)
    places = select(Alias.domain_id, Alias.key).where(Alias.link_id.in_(users))
    connection.execute(INSERT.from_select(["domain_id", "alias"], places))


@event.listens_for(Domain, "after_insert")
@event.listens_for(Domain, "after_update")
@event.listens_for(Domain, "before_delete")
def invalidate_domain(mapper: Mapper[Domain], connection: Connection, domain: Domain) -> None:  # noqa: ARG001
    """Invalidate a whole domain: its host, its owner or what all of its links answer may have changed."""
    connection.execute(INSERT, [{"domain_id": domain.id, "alias": None}])


@event.listens_for(Domain, "before_delete")
def release_aliases_of(mapper: Mapper[Domain], connection: Connection, domain: Domain) -> None:  # noqa: ARG001
    """Delete a domain's held aliases, which no link has now. The domain's id is never used again."""
    gone = delete(Alias).where(Alias.domain_id == domain.id, Alias.link_id.is_(None))
    connection.execute(gone)
