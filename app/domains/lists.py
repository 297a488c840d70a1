"""Filters and sort orders of the list of domains."""

from __future__ import annotations

from app.domains.models import Domain
from app.input.listing import Listing, contains
from app.input.parsers import parse_boolean

LISTING = Listing(
    model=Domain,
    filters={
        "search": lambda text, params: contains(text, Domain.host),  # noqa: ARG005
        "is_enabled": lambda text, params: Domain.is_enabled.is_(parse_boolean(text)),  # noqa: ARG005
        "is_verified": lambda text, params: Domain.is_verified.is_(parse_boolean(text)),  # noqa: ARG005
    },
    orders={
        "domain_id": Domain.id,
        "datetime": Domain.datetime,
        "last_datetime": Domain.last_datetime,
        "host": Domain.host,
    },
)
