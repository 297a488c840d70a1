"""The settings of a link, each said once.

`SETTINGS` has a row for each. From it derive the link form and its sections, the answers of the API and their
schema in the OpenAPI document, the columns of imports and exports, the history, the preview, and the compiled
link with its query. See docs/decisions/2026-11-23-settings-said-once.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from app.domains.models import Domain
from app.i18n.messages import lazy_gettext as _l
from app.input.fields import ChoiceField, DateTimeField, FlagField, TextField
from app.input.forms import IdsField, OwnIdField
from app.links import targeting
from app.links.fields import (
    STATUS_CODES,
    AliasField,
    DestinationField,
    DestinationsField,
    LimitField,
    LinkPasswordField,
    PictureField,
    TagsField,
)
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project

# who reads a setting for a visitor: every redirect, so that the compiled link has it, or only pages
REDIRECT, PAGE = "redirect", "page"
# a section of the form shows the field's own value in its summary, and no fixed word
VALUE = "value"


@dataclass(frozen=True, kw_only=True)
class LinkSetting:
    """One setting, by the name of its column and of its key in the API.

    `field`: its form field, with its label. None: no form sends it, and `title` is its label.
    `answer`: the word for its type in the API's answers (see `openapi.document`); "": they do not have it.
    `headings`: other headings of its column in tables to import, the surest first; None: tables have no such
    column. Where they have one, exports write it.
    `read_by`: REDIRECT, PAGE, or "" where no visitor's request reads it.
    `is_recorded`: whether the history has its changes; `is_secret`: without its values.
    `is_previewed`: whether the preview gets it while it is typed.
    `section`: that of the form that has its control; `summary`: the word that the closed section shows while
    it is on, VALUE, or "" for none.
    `rule`: the name of the list's filter for links that have it on.
    """

    field: Any = None
    title: str = ""
    answer: str = ""
    headings: tuple[str, ...] | None = None
    read_by: str = ""
    is_recorded: bool = True
    is_secret: bool = False
    is_previewed: bool = True
    section: str = ""
    summary: str = ""
    rule: str = ""

    @property
    def label(self) -> str:
        return str(self.field.args[0] if self.field else self.title)

    @property
    def choices(self) -> Mapping[Any, str]:
        """The words for its values, if it is one of a closed set."""
        found: Mapping[Any, str] = self.field.kwargs.get("choices", {}) if self.field else {}
        return found


# in the order of the form and of exports
SETTINGS: dict[str, LinkSetting] = {
    "type": LinkSetting(
        field=ChoiceField(_l("Type"), choices={"link": _l("Link")}, can_be_empty=False),
        answer="string",
        is_recorded=False,
    ),
    # with it, a create makes a link for each of `location_urls`; neither is stored
    "is_bulk": LinkSetting(field=FlagField(_l("Bulk actions"))),
    "location_url": LinkSetting(
        field=DestinationField(_l("Destination"), required=True),
        answer="destination",
        headings=(
            *("long url", "destination url", "destination", "original url", "target url", "target"),
            *("original urls", "long link", "redirect url", "redirect to", "full url", "href", "url"),
        ),
        read_by=REDIRECT,
    ),
    "location_urls": LinkSetting(field=DestinationsField(_l("Destinations"), required=True)),
    "url": LinkSetting(field=AliasField(_l("Short link")), answer="string", read_by=REDIRECT),
    "domain_id": LinkSetting(
        field=OwnIdField(_l("Domain"), model=Domain), answer="integer", read_by=REDIRECT
    ),
    "project_id": LinkSetting(
        field=OwnIdField(_l("Project"), model=Project), answer="integer?", section="labels", summary=VALUE
    ),
    "is_enabled": LinkSetting(
        field=FlagField(_l("Enabled")),
        answer="boolean",
        headings=("enabled", "active", "status", "link status"),
        read_by=REDIRECT,
        section="address",
    ),
    "title": LinkSetting(
        field=TextField(_l("Title"), most=160),
        answer="string?",
        headings=("titles", "link title", "name"),
        read_by=PAGE,
        section="labels",
        summary=VALUE,
    ),
    "notes": LinkSetting(
        field=TextField(_l("Notes"), most=2000, lines=True),
        answer="string?",
        headings=("note", "description", "comments", "comment"),
        section="labels",
        summary=_l("Notes"),
    ),
    "tags": LinkSetting(
        field=TagsField(_l("Tags"), most_members=20),
        answer="[string]",
        headings=("labels", "tag"),
        section="labels",
        summary=_l("Tags"),
    ),
    "pixels_ids": LinkSetting(
        field=IdsField(_l("Pixels"), model=Pixel), answer="[integer]", section="tracking", summary=VALUE
    ),
    "email_reports": LinkSetting(
        field=IdsField(_l("Notifications"), model=NotificationHandler),
        answer="[integer]",
        section="tell",
        summary=VALUE,
    ),
    "schedule": LinkSetting(
        field=FlagField(_l("Schedule")),
        answer="boolean",
        headings=("link expiration enable",),
        section="when",
        summary=_l("Schedule"),
        rule="schedule",
    ),
    "start_date": LinkSetting(
        field=DateTimeField(_l("Start")),
        answer="time?",
        headings=("valid since", "meta valid since", "valid from"),
        read_by=REDIRECT,
        section="when",
    ),
    "end_date": LinkSetting(
        field=DateTimeField(_l("End")),
        answer="time?",
        headings=(
            *("valid until", "meta valid until", "expires at", "expires at date", "expiration"),
            *("expiration date", "expiry date", "expiry datetime", "link expiration end", "expire in"),
            "expires",
        ),
        read_by=REDIRECT,
        section="when",
    ),
    "clicks_limit": LinkSetting(
        field=LimitField(_l("Click limit"), least=0, most=2**31 - 1),
        answer="integer?",
        headings=("max visits", "meta max visits", "click limit", "max clicks", "expiry clicks"),
        read_by=REDIRECT,
        section="when",
        summary=_l("Click limit"),
        rule="clicks_limit",
    ),
    "clicks_limit_confirmation_is_enabled": LinkSetting(
        field=FlagField(_l("Ask for a tap")),
        answer="boolean",
        headings=(),
        read_by=REDIRECT,
        section="when",
        summary=_l("Asks for a tap"),
        rule="confirmation",
    ),
    "expiration_url": LinkSetting(
        field=DestinationField(_l("Expiration URL")),
        answer="destination?",
        headings=("expired url", "expiry destination", "link expiration url"),
        read_by=REDIRECT,
        section="when",
        summary=_l("Expiration URL"),
    ),
    # the API has it in `settings`
    "sensitive_content": LinkSetting(
        field=FlagField(_l("Warn before sensitive content")),
        headings=("settings sensitive content",),  # as this API answers
        read_by=REDIRECT,
        section="protection",
        summary=_l("Warning page"),
        rule="sensitive_content",
    ),
    "http_status_code": LinkSetting(
        field=ChoiceField(_l("Redirect type"), choices=STATUS_CODES, clears_to=302),
        answer="integer",
        headings=("redirect type", "redirect code"),
        read_by=REDIRECT,
        section="address",
        summary=VALUE,
    ),
    "app_linking_is_enabled": LinkSetting(
        field=FlagField(_l("Open in apps")),
        answer="boolean",
        headings=(),
        read_by=REDIRECT,
        section="address",
        summary=_l("Opens apps"),
        rule="app_linking",
    ),
    "cloaking_is_enabled": LinkSetting(
        field=FlagField(_l("Cloaking")),
        answer="boolean",
        headings=("cloaking",),
        read_by=REDIRECT,
        section="appearance",
        summary=_l("Cloaked"),
        rule="cloaking",
    ),
    "cloaking_title": LinkSetting(
        field=TextField(_l("Card title"), most=160),
        answer="string?",
        headings=(),
        read_by=PAGE,
        section="appearance",
        summary=_l("Social card"),
    ),
    "cloaking_meta_description": LinkSetting(
        field=TextField(_l("Card description"), most=320, lines=True),
        answer="string?",
        headings=(),
        read_by=PAGE,
        section="appearance",
        summary=_l("Social card"),
    ),
    "cloaking_custom_js": LinkSetting(
        field=TextField(_l("Script"), most=20_000, lines=True),
        answer="string?",
        headings=(),
        read_by=PAGE,
        is_previewed=False,
        section="appearance",
    ),
    # tables have the names of pictures in the ZIP that contains them
    "cloaking_favicon": LinkSetting(
        field=PictureField(_l("Icon"), most_bytes=512 * 1024, may_be_icon=True),
        answer="address?",
        headings=(),
        read_by=PAGE,
        is_previewed=False,
        section="appearance",
    ),
    "cloaking_opengraph": LinkSetting(
        field=PictureField(_l("Card picture"), most_bytes=5 * 1024 * 1024),
        answer="address?",
        headings=(),
        read_by=PAGE,
        is_previewed=False,
        section="appearance",
        summary=_l("Social card"),
    ),
    # the API has it in `settings`, masked; its hash is stored
    "password": LinkSetting(
        field=LinkPasswordField(_l("Password"), most=128),
        is_previewed=False,
        section="protection",
        summary=_l("Password"),
    ),
    "password_hash": LinkSetting(
        title=_l("Password"), read_by=REDIRECT, is_secret=True, summary=_l("Password"), rule="password"
    ),
    "forward_query_parameters_is_enabled": LinkSetting(
        field=FlagField(_l("Forward query parameters")),
        answer="boolean",
        headings=("forward query", "forward parameters", "forward params"),
        read_by=REDIRECT,
        section="tracking",
        summary=_l("Forwards query parameters"),
    ),
    "utm_source": LinkSetting(
        field=TextField("UTM source", most=256),
        answer="string?",
        headings=(),
        read_by=REDIRECT,
        section="tracking",
        summary=VALUE,
    ),
    "utm_medium": LinkSetting(
        field=TextField("UTM medium", most=256),
        answer="string?",
        headings=(),
        read_by=REDIRECT,
        section="tracking",
        summary=VALUE,
    ),
    "utm_campaign": LinkSetting(
        field=TextField("UTM campaign", most=256),
        answer="string?",
        headings=(),
        read_by=REDIRECT,
        section="tracking",
        summary=VALUE,
    ),
    "targeting_type": LinkSetting(
        field=ChoiceField(_l("Target visitors by"), choices=targeting.LABELS),
        answer="string?",
        headings=(),
        read_by=REDIRECT,
        section="where",
        summary=VALUE,
    ),
    # the pairs of that type, each sent by two fields of its own; the API has them in `settings`
    "targeting": LinkSetting(title=_l("Destinations by visitor")),
}
