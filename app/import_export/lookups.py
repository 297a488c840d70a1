"""Look-up of the domains, pixels, handlers and hosts that an owner's rows may name, once for many rows."""

from __future__ import annotations

from sqlalchemy import select

from app.accounts.access import Access
from app.core.config import Settings
from app.core.extensions import db
from app.domains.models import Domain
from app.import_export.archive_reader import ArchiveReader
from app.import_export.attachments import handler_ids, ids_by
from app.import_export.models import LinkImport
from app.import_export.rows import ImportContext
from app.links.destination import netloc_of
from app.pixels.models import Pixel


def around_of(
    access: Access, job: LinkImport, settings: Settings, archive: ArchiveReader | None = None
) -> ImportContext:
    # of a host that stands twice the verified one
    mine = (
        select(Domain)
        .where(Domain.workspace_id == access.workspace_id)
        .order_by(Domain.is_verified, Domain.id)
    )
    every = list(db.session.scalars(mine))
    domains = {domain.host: domain.id for domain in every if domain.is_verified and domain.is_enabled}
    return ImportContext(
        owner=access,
        settings=settings,
        own_hosts=own_hosts(settings, job.host),
        domains=domains,
        pixels={
            **ids_by((Pixel.type, Pixel.pixel), Pixel, access.workspace_id),
            **ids_by((Pixel.type, Pixel.pixel, Pixel.name), Pixel, access.workspace_id),
        },
        handlers=handler_ids(access.workspace_id),
        domain_id=job.domain_id if job.domain_id in domains.values() else None,
        project=job.project,
        archive=archive,
        all_domains={domain.host: domain.id for domain in every},
        clears_empty=job.clears_empty,
    )


def own_hosts(settings: Settings, host: str) -> frozenset[str]:
    """Every host whose URLs could be short links of this instance."""
    known = (settings.base_url, settings.dashboard_url, host and f"http://{host}")
    named = {netloc_of(text) for text in known if text}
    return frozenset(named | set(db.session.scalars(select(Domain.host).where(Domain.is_verified))))
