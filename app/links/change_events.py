"""Events of changes of links, made of what their history records: one place sees them all."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import select

from app.core.clock import format_utc
from app.core.extensions import db
from app.domains.models import Domain
from app.events import types
from app.events.drafts import LinkAddress, LinkEvent, record
from app.links.fields import MASK
from app.links.models import Link
from app.links.schema import SETTINGS

# by the kinds of changes in the history; of the others nothing is told
TYPE_BY_KIND = {
    "created": types.CREATED,
    "changed": types.UPDATED,
    "reverted": types.UPDATED,
    "deleted": types.DELETED,
    "restored": types.RESTORED,
}
NAMES = {"password_hash": "password"}  # what the API calls them
MOMENTS = ("start_date", "end_date")
Changes = Mapping[str, Sequence[Any]]  # field → before, after


def record_changes(links: Sequence[Link], kind: str, fields: Changes) -> None:
    """Records the same change of each of the links, in the transaction that makes it."""
    type_ = TYPE_BY_KIND.get(kind)
    if type_ is None:
        return
    domains_before = [*fields.get("domain_id", ())[:1]]
    origins = origins_of({*(link.domain_id for link in links), *domains_before})
    data = {"changes": describe_changes(fields)} if type_ == types.UPDATED else {}
    events = []
    for link in links:
        domain_before = domains_before[0] if domains_before else link.domain_id
        url_before = fields["url"][0] if "url" in fields else link.url
        events.append(
            LinkEvent(
                type_,
                link.workspace_id,
                link.id,
                LinkAddress(link.url, origins.get(link.domain_id)),
                LinkAddress(url_before, origins.get(domain_before)),
                link.location_url,
                data,
            )
        )
    record(db.session, events)


def origins_of(ids: set[int | None]) -> dict[int | None, str]:
    """Scheme and host of these domains."""
    wanted = sorted(id_ for id_ in ids if id_)
    if not wanted:
        return {}
    found = db.session.execute(select(Domain.id, Domain.scheme, Domain.host).where(Domain.id.in_(wanted)))
    return {id_: f"{scheme}{host}" for id_, scheme, host in found}


def describe_changes(fields: Changes) -> dict[str, list[Any]]:
    """The changes as the API names and writes the fields; of a secret only whether there was one."""
    return {
        NAMES.get(name, name): [describe_value(name, before), describe_value(name, after)]
        for name, (before, after) in fields.items()
    }


def describe_value(name: str, value: Any) -> Any:
    if name in SETTINGS and SETTINGS[name].is_secret:
        return MASK if value else None
    if name in MOMENTS and value:
        return format_utc(dt.datetime.fromisoformat(value))
    if name == "targeting":
        return [{"key": key, "value": destination} for key, destination in value or ()]
    if name == "domain_id":
        return value or 0
    return value
