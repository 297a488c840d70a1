"""Presents rows as API objects: the seed's keys in its order, then the contract's."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from operator import attrgetter
from typing import Any

from app.accounts.models import User, Workspace, WorkspaceInvitation, WorkspaceMember
from app.api.related_rows import RelatedRows, made_beside, read_beside
from app.core.clock import format_utc
from app.domains.models import Domain
from app.domains.services import seen_as_anothers
from app.domains.verification import proofs
from app.events.types import CLICKED
from app.links.models import Link
from app.notifications.click_filter import ClickFilter
from app.notifications.event_types import told_types
from app.notifications.models import NotificationHandler
from app.notifications.transport import all_transports
from app.openapi.resources import LINK_KEYS
from app.pixels.models import Pixel
from app.projects.models import Project
from app.trash.models import Trashed
from app.web.urls import media_url, short_url_at

MASK = "********"
LOOK_ALIKE = {
    "code": "look_alike",
    "detail": "This host looks like a domain that somebody else has here: visitors may take it for that.",
}


def links(rows: Sequence[Link]) -> list[dict[str, Any]]:
    others = RelatedRows(rows, read_beside([row.id for row in rows]))
    return [link(row, others) for row in rows]


def new_link(row: Link) -> dict[str, Any]:
    return link(row, RelatedRows([row], made_beside(row)))


def link(row: Link, others: RelatedRows) -> dict[str, Any]:
    found = IN_ORDER.copy()
    found.update(zip(STORED, stored_values(row), strict=False))
    for name, show in SHOWN:
        found[name] = show(found[name])
    for name, compute in COMPUTED:
        found[name] = compute(row, others)
    return found


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


# keys of a link that are no column of it as stored
COMPUTED: tuple[tuple[str, Callable[[Link, RelatedRows], Any]], ...] = (
    ("domain_id", lambda row, _: row.domain_id or 0),
    ("settings", lambda row, _: settings(row)),
    ("clicks", lambda row, others: sum(others.numbers("clicks", row))),
    ("order", lambda _, others: 0),  # noqa: ARG005
    (
        "short_url",
        lambda row, others: short_url_at(others.domains.get(row.domain_id or 0, others.site), row.url),
    ),
    ("tags", lambda row, others: others.tags(row)),
    ("pixels_ids", lambda row, others: others.numbers("pixels", row)),
    ("email_reports", lambda row, others: others.numbers("handlers", row)),
)
# all others, and how a value of a type is shown that JSON does not have
STORED = tuple(name for name in LINK_KEYS if name not in dict(COMPUTED))
SHOW: Mapping[str, Callable[[Any], Any]] = {"time": format_utc, "address": media_url}
SHOWN = [(name, SHOW[word]) for name in STORED if (word := LINK_KEYS[name].removesuffix("?")) in SHOW]
stored_values = attrgetter(*STORED)
# copied for each link: the values come in another order than the keys
IN_ORDER: dict[str, Any] = dict.fromkeys(LINK_KEYS)


def pixels(rows: Sequence[Pixel]) -> list[dict[str, Any]]:
    return [
        {
            "id": row.id,
            "type": row.type,
            "name": row.name,
            "pixel": row.pixel,
            "last_datetime": format_utc(row.last_datetime),
            "datetime": format_utc(row.datetime),
        }
        for row in rows
    ]


def projects(rows: Sequence[Project]) -> list[dict[str, Any]]:
    return [
        {
            "id": row.id,
            "name": row.name,
            "color": row.color,
            "last_datetime": format_utc(row.last_datetime),
            "datetime": format_utc(row.datetime),
        }
        for row in rows
    ]


def domains(rows: Sequence[Domain]) -> list[dict[str, Any]]:
    """Domains as objects. A look-alike warning never names the other domain, which may be another user's."""
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
            "last_datetime": format_utc(row.last_datetime),
            "datetime": format_utc(row.datetime),
        }
        for row in rows
    ]


def handler(row: NotificationHandler, *, with_secrets: bool) -> dict[str, Any]:
    transport = all_transports()[row.type]
    hidden = frozenset() if with_secrets else transport.secrets
    settings = transport.visible_settings(row.settings)
    return {
        "id": row.id,
        "type": row.type,
        "name": row.name,
        "settings": {
            name: MASK if name in hidden and value is not None else value for name, value in settings.items()
        },
        "is_enabled": row.is_enabled,
        "last_datetime": format_utc(row.last_datetime),
        "datetime": format_utc(row.datetime),
        "is_confirmed": row.is_confirmed,
        **events(row),
    }


def subscription(row: NotificationHandler, *, with_secrets: bool) -> dict[str, Any]:
    transport = all_transports()[row.type]
    settings = transport.visible_settings(row.settings)
    return {
        "id": row.id,
        "name": row.name,
        **{name: value if with_secrets or value is None else MASK for name, value in settings.items()},
        **events(row),
        "link_id": row.link_id,
        "is_enabled": row.is_enabled,
        "datetime": format_utc(row.datetime),
    }


def events(row: NotificationHandler) -> dict[str, Any]:
    """Which events a handler is told of."""
    types = list(told_types(row.events))
    return {
        "events": types,
        "scope": row.scope,
        "click_filter": ClickFilter.of(row.click_filter).as_object() if CLICKED in types else None,
    }


def workspace(row: Workspace, role: str) -> dict[str, Any]:
    return {
        "id": row.id,
        "name": row.name,
        "role": role,
        "last_datetime": format_utc(row.last_datetime),
        "datetime": format_utc(row.datetime),
    }


def member(row: WorkspaceMember) -> dict[str, Any]:
    return {
        "id": row.id,
        "user_id": row.user_id,
        "email": row.user.email,
        "name": row.user.name,
        "role": row.role,
        "datetime": format_utc(row.datetime),
    }


def invitation(row: WorkspaceInvitation) -> dict[str, Any]:
    return {
        "id": row.id,
        "email": row.email,
        "role": row.role,
        "expires_datetime": format_utc(row.expires_datetime),
        "datetime": format_utc(row.datetime),
    }


def trashed(row: Trashed) -> dict[str, Any]:
    return {
        "id": row.id,
        "type": row.kind,
        "row_id": row.row_id,
        "name": row.name,
        "detail": str(row.detail),
        "datetime": format_utc(row.deleted_datetime),
        "purge_datetime": format_utc(row.ends),
    }


def user(row: User) -> dict[str, Any]:
    return {
        "id": row.id,
        "email": row.email,
        "name": row.name,
        "timezone": row.timezone,
        "language": row.language,
        "is_admin": row.is_admin,
        "datetime": format_utc(row.datetime),
    }
