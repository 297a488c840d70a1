"""Resources of the API: the rows, form and list of each, with the texts and examples of its document.

The keys of a link in the API's answers, in their order, have a word for the type of each: those of the
objects in `openapi.document`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.accounts.access import words_of
from app.domains.forms import DomainForm
from app.domains.models import Domain
from app.domains.services import LISTING as DOMAINS_LIST
from app.input.forms import ResourceForm
from app.input.listing import Listing
from app.links.forms import LinkForm
from app.links.lists import LISTING as LINKS_LIST
from app.links.models import Link
from app.links.schema import SETTINGS
from app.notifications.forms import HandlerForm
from app.notifications.lists import LISTING as NOTIFICATIONS_LIST
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.pixels.services import LISTING as PIXELS_LIST
from app.pixels.services import PixelForm
from app.projects.models import Project
from app.projects.services import LISTING as PROJECTS_LIST
from app.projects.services import ProjectForm


@dataclass(frozen=True, kw_only=True)
class ResourceDescription:
    """What the API and its document know of one resource: its rows, their form, texts and examples."""

    model: type[Any]
    form: type[ResourceForm]
    listing: Listing[Any]
    example: Mapping[str, str]
    change: Mapping[str, str]

    @property
    def one(self) -> str:
        """`NotificationHandler` → `notification handler`."""
        return words_of(self.model)

    @property
    def tag(self) -> str:
        return f"{self.one.capitalize()}s"

    @property
    def schema(self) -> str:
        return self.model.__name__


# by path
RESOURCES: Mapping[str, ResourceDescription] = {
    "/links": ResourceDescription(
        model=Link,
        form=LinkForm,
        listing=LINKS_LIST,
        example={"location_url": "https://example.com/"},
        change={"title": "Spring"},
    ),
    "/pixels": ResourceDescription(
        model=Pixel,
        form=PixelForm,
        listing=PIXELS_LIST,
        example={"type": "social_a", "name": "Shop", "pixel": "1234567890123456"},
        change={"name": "Shop and blog"},
    ),
    "/notification-handlers": ResourceDescription(
        model=NotificationHandler,
        form=HandlerForm,
        listing=NOTIFICATIONS_LIST,
        example={"type": "email", "name": "Me", "email": "me@example.com"},
        change={"is_enabled": "0"},
    ),
    "/projects": ResourceDescription(
        model=Project,
        form=ProjectForm,
        listing=PROJECTS_LIST,
        example={"name": "Launch"},
        change={"color": "#0b7285"},
    ),
    "/domains": ResourceDescription(
        model=Domain,
        form=DomainForm,
        listing=DOMAINS_LIST,
        example={"host": "links.example"},
        change={"custom_index_url": "https://example.com/"},
    ),
}


# keys that are no settings
OTHERS = {
    "id": "integer",
    "settings": "object",
    "clicks": "integer",
    "order": "integer",
    "datetime": "time",
    "last_datetime": "time?",
    "short_url": "address",
}
# The order of the first version's keys, which clients may know by now: it stays. Later settings follow it, in
# the schema's order
FIRST = (
    *("id", "project_id", "domain_id", "type", "url", "location_url", "settings", "clicks", "order"),
    *("start_date", "end_date", "datetime", "is_enabled", "last_datetime", "short_url", "title", "notes"),
    *("tags", "pixels_ids", "email_reports", "clicks_limit", "expiration_url", "schedule"),
    *("http_status_code", "app_linking_is_enabled", "cloaking_is_enabled", "cloaking_title"),
    *("cloaking_meta_description", "cloaking_custom_js", "cloaking_favicon", "cloaking_opengraph"),
    *("forward_query_parameters_is_enabled", "utm_source", "utm_medium", "utm_campaign", "targeting_type"),
)
WORDS = OTHERS | {name: setting.answer for name, setting in SETTINGS.items() if setting.answer}
LINK_KEYS = {name: WORDS[name] for name in dict.fromkeys((*FIRST, *WORDS))}
