"""What may the rows of an owner's table name? Read once for many of them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from sqlalchemy import select

from app.accounts.models import User
from app.config import Settings
from app.domains.models import Domain
from app.extensions import db
from app.links.destination import netloc_of
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.transfer.models import LinkImport
from app.transfer.rows import Around
from app.transfer.texts import Name


def around_of(owner: User, job: LinkImport, settings: Settings) -> Around:
    mine = select(Domain).where(Domain.user_id == owner.id, Domain.is_verified, Domain.is_enabled)
    domains = {domain.host: domain.id for domain in db.session.scalars(mine)}
    return Around(
        owner=owner,
        settings=settings,
        own_hosts=own_hosts(settings, job.host),
        domains=domains,
        pixels={
            **ids_by((Pixel.type, Pixel.pixel), Pixel, owner.id),
            **ids_by((Pixel.type, Pixel.pixel, Pixel.name), Pixel, owner.id),
        },
        handlers=ids_by((NotificationHandler.type, NotificationHandler.name), NotificationHandler, owner.id),
        domain_id=job.domain_id if job.domain_id in domains.values() else None,
        project=job.project,
    )


def own_hosts(settings: Settings, host: str) -> frozenset[str]:
    """Every host whose addresses could be short ones of this instance."""
    known = (settings.base_url, settings.dashboard_url, host and f"http://{host}")
    named = {netloc_of(text) for text in known if text}
    return frozenset(named | set(db.session.scalars(select(Domain.host).where(Domain.is_verified))))


def ids_by(columns: Sequence[Any], model: Any, user_id: int) -> dict[Name, list[int]]:
    """Ids of an owner's rows by these columns, the oldest first: several may have the same."""
    found: dict[Name, list[int]] = defaultdict(list)
    for id_, *values in db.session.execute(
        select(model.id, *columns).where(model.user_id == user_id).order_by(model.id)
    ):
        found[tuple(map(str, values))].append(id_)
    return found
