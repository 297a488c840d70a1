"""How does each kind of row look in the API? The seed's keys in its order, then the contract's."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Sequence
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    FromClause,
    Select,
    String,
    bindparam,
    cast,
    literal_column,
    null,
    select,
    union_all,
)

from app.accounts.models import User
from app.clock import written
from app.domains.models import Domain
from app.domains.proofs import proofs
from app.domains.services import seen_as_anothers
from app.extensions import db
from app.links.clicks import COUNTS
from app.links.models import Link, LinkTag, link_notification_handler, link_pixel
from app.notifications.models import NotificationHandler
from app.notifications.transport import all_transports
from app.own_addresses import media_url, short_url
from app.pixels.models import Pixel
from app.projects.models import Project

MASK = "********"
LOOK_ALIKE = {
    "code": "look_alike",
    "detail": "This host looks like a domain that somebody else has here: visitors may take it for that.",
}
NOTHING: ColumnElement[Any] = cast(null(), String)


def beside(kind: str, table: FromClause, number: str, text: ColumnElement[Any] = NOTHING) -> Select[Any]:
    """What a table holds of some links, with a word for what it is."""
    ids: BindParameter[Any] = bindparam("ids", expanding=True)
    found = select(literal_column(f"'{kind}'"), table.c.link_id, table.c[number], text)
    return found.where(table.c.link_id.in_(ids))


# made once, and one query: to make one takes longer than to run it, and to ask takes longer than to answer
BESIDE = union_all(
    beside("pixels", link_pixel, "pixel_id"),
    beside("handlers", link_notification_handler, "notification_handler_id"),
    beside("tags", LinkTag.__table__, "position", LinkTag.__table__.c.tag),
    *(beside("clicks", counts, "clicks") for counts in COUNTS),
)


class Beside:
    """What is shown with links but stands in other tables, read once for all of a page.

    By ids and not as rows: a page of 1,000 links needs no pixel, and no handler unsealed.
    """

    def __init__(self, links: Sequence[Link]) -> None:
        self.domains = addresses({link.domain_id for link in links if link.domain_id})
        self.found: dict[tuple[str, int], list[tuple[int, str | None]]] = defaultdict(list)
        ids = {"ids": [link.id for link in links]}
        for kind, link_id, number, text in db.session.connection().execute(BESIDE, ids):
            self.found[kind, link_id].append((number, text))

    def numbers(self, kind: str, link: Link) -> list[int]:
        return sorted(number for number, _ in self.found.get((kind, link.id), ()))

    def tags(self, link: Link) -> list[str | None]:
        return [tag for _, tag in sorted(self.found.get(("tags", link.id), ()))]


def addresses(ids: Collection[int]) -> dict[int, str]:
    """Scheme and host of these domains."""
    if not ids:
        return {}
    found = db.session.execute(select(Domain.id, Domain.scheme, Domain.host).where(Domain.id.in_(ids)))
    return {id_: f"{scheme}{host}" for id_, scheme, host in found}


def links(rows: Sequence[Link]) -> list[dict[str, Any]]:
    others = Beside(rows)
    return [link(row, others) for row in rows]


def link(row: Link, others: Beside) -> dict[str, Any]:
    return {
        "id": row.id,
        "project_id": row.project_id,
        "domain_id": row.domain_id or 0,
        "type": row.type,
        "url": row.url,
        "location_url": row.location_url,
        "settings": settings(row),
        "clicks": sum(others.numbers("clicks", row)),
        "order": 0,
        "start_date": written(row.start_date),
        "end_date": written(row.end_date),
        "datetime": written(row.datetime),
        "is_enabled": row.is_enabled,
        "last_datetime": written(row.last_datetime),
        "short_url": short_url(row.url, others.domains.get(row.domain_id or 0)),
        "title": row.title,
        "notes": row.notes,
        "tags": others.tags(row),
        "pixels_ids": others.numbers("pixels", row),
        "email_reports": others.numbers("handlers", row),
        "clicks_limit": row.clicks_limit,
        "expiration_url": row.expiration_url,
        "schedule": row.schedule,
        "http_status_code": row.http_status_code,
        "app_linking_is_enabled": row.app_linking_is_enabled,
        "cloaking_is_enabled": row.cloaking_is_enabled,
        "cloaking_title": row.cloaking_title,
        "cloaking_meta_description": row.cloaking_meta_description,
        "cloaking_custom_js": row.cloaking_custom_js,
        "cloaking_favicon": media_url(row.cloaking_favicon),
        "cloaking_opengraph": media_url(row.cloaking_opengraph),
        "forward_query_parameters_is_enabled": row.forward_query_parameters_is_enabled,
        "utm_source": row.utm_source,
        "utm_medium": row.utm_medium,
        "utm_campaign": row.utm_campaign,
        "targeting_type": row.targeting_type,
    }


def settings(row: Link) -> dict[str, Any]:
    found: dict[str, Any] = {
        "password": MASK if row.password_hash else None,
        "sensitive_content": row.sensitive_content,
    }
    if row.targeting_type:
        found[f"targeting_{row.targeting_type}"] = [
            {"key": key, "value": value} for key, value in row.targeting
        ]
    return found


def pixels(rows: Sequence[Pixel]) -> list[dict[str, Any]]:
    return [
        {
            "id": row.id,
            "type": row.type,
            "name": row.name,
            "pixel": row.pixel,
            "last_datetime": written(row.last_datetime),
            "datetime": written(row.datetime),
        }
        for row in rows
    ]


def projects(rows: Sequence[Project]) -> list[dict[str, Any]]:
    return [
        {
            "id": row.id,
            "name": row.name,
            "color": row.color,
            "last_datetime": written(row.last_datetime),
            "datetime": written(row.datetime),
        }
        for row in rows
    ]


def domains(rows: Sequence[Domain]) -> list[dict[str, Any]]:
    """Whose domain one looks like is not told: nobody sees another's."""
    doubtful = seen_as_anothers(rows)
    return [
        {
            "id": row.id,
            "host": row.host,
            "scheme": row.scheme,
            "custom_index_url": row.custom_index_url,
            "custom_not_found_url": row.custom_not_found_url,
            "is_enabled": row.is_enabled,
            "is_verified": row.is_verified,
            "verification": proofs(row)._asdict(),
            "warnings": [LOOK_ALIKE] if row.id in doubtful else [],
            "last_datetime": written(row.last_datetime),
            "datetime": written(row.datetime),
        }
        for row in rows
    ]


def handler(row: NotificationHandler, *, with_secrets: bool) -> dict[str, Any]:
    transport = all_transports()[row.type]
    hidden = frozenset() if with_secrets else transport.secrets
    settings = transport.shown(row.settings)
    return {
        "id": row.id,
        "type": row.type,
        "name": row.name,
        "settings": {
            name: MASK if name in hidden and value is not None else value for name, value in settings.items()
        },
        "is_enabled": row.is_enabled,
        "last_datetime": written(row.last_datetime),
        "datetime": written(row.datetime),
        "is_confirmed": row.is_confirmed,
    }


def user(row: User) -> dict[str, Any]:
    return {
        "id": row.id,
        "email": row.email,
        "name": row.name,
        "timezone": row.timezone,
        "language": row.language,
        "is_admin": row.is_admin,
        "datetime": written(row.datetime),
    }
