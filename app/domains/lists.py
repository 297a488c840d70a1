"""What can be asked of the list of domains?"""

from __future__ import annotations

from app.domains.models import Domain
from app.lists import Listing, contains
from app.reading import flag

LISTING = Listing(
    model=Domain,
    filters={
        "search": lambda text, asked: contains(text, Domain.host),  # noqa: ARG005
        "is_enabled": lambda text, asked: Domain.is_enabled.is_(flag(text)),  # noqa: ARG005
        "is_verified": lambda text, asked: Domain.is_verified.is_(flag(text)),  # noqa: ARG005
    },
    orders={
        "domain_id": Domain.id,
        "datetime": Domain.datetime,
        "last_datetime": Domain.last_datetime,
        "host": Domain.host,
    },
)
