"""What does the API do with links?"""

from __future__ import annotations

from typing import Any

from app.accounts.models import User
from app.api import present
from app.api.resource import Resource
from app.links import services
from app.links.forms import LinkForm
from app.links.lists import LISTING
from app.links.models import Link


def create(user: User, changes: dict[str, Any]) -> Link | list[Link]:
    """One link, or one for each of many destinations."""
    if "location_urls" in changes:
        return services.create_bulk(user, changes)
    return services.create(user, changes)


LINKS = Resource(
    path="/links",
    model=Link,
    form=LinkForm,
    create=create,
    services=services,
    listing=LISTING,
    present=present.links,
)
