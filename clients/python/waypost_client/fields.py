"""What operations accept, as typed keyword arguments: fields of bodies and filters of queries.

Not given is "not sent": on a change such a field keeps its value. `None` is "sent empty" and clears it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import TypedDict

from waypost_client.calls import Upload

Time = dt.datetime | str | None  # without an offset it is in UTC
Picture = Upload | str | None
Texts = Sequence[str] | None
Ids = Sequence[int] | None


class TargetingFields(TypedDict, total=False):
    """The targeting of a link. Its pairs are two columns: keys, and destinations in the same order."""

    targeting_type: str | None
    targeting_continent_code_key: Texts
    targeting_continent_code_value: Texts
    targeting_country_code_key: Texts
    targeting_country_code_value: Texts
    targeting_city_name_key: Texts
    targeting_city_name_value: Texts
    targeting_device_type_key: Texts
    targeting_device_type_value: Texts
    targeting_browser_language_key: Texts
    targeting_browser_language_value: Texts
    targeting_rotation_key: Texts
    targeting_rotation_value: Texts
    targeting_os_name_key: Texts
    targeting_os_name_value: Texts
    targeting_browser_name_key: Texts
    targeting_browser_name_value: Texts


class LinkOptions(TargetingFields, total=False):
    """A link, without its destination and its alias."""

    type: str | None
    domain_id: int | None
    project_id: int | None
    is_enabled: bool
    title: str | None
    notes: str | None
    tags: Texts
    pixels_ids: Ids
    email_reports: Ids
    schedule: bool
    start_date: Time
    end_date: Time
    clicks_limit: int | None
    clicks_limit_confirmation_is_enabled: bool
    expiration_url: str | None
    sensitive_content: bool
    http_status_code: int | None
    app_linking_is_enabled: bool
    cloaking_is_enabled: bool
    cloaking_title: str | None
    cloaking_meta_description: str | None
    cloaking_custom_js: str | None
    cloaking_favicon: Picture
    cloaking_opengraph: Picture
    password: str | None
    forward_query_parameters_is_enabled: bool
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None


class LinkFields(LinkOptions, total=False):
    location_url: str
    url: str | None


class PixelFields(TypedDict, total=False):
    type: str
    name: str
    pixel: str


class ClickFilter(TypedDict, total=False):
    """Which clicks are told. `every`: each Nth of a link. `first`: only the first of each link."""

    countries: Texts
    is_bot: bool
    every: int
    first: bool


class PushOptions(TypedDict, total=False):
    """Which events are sent, of which links: `attached` or all of the `workspace`."""

    events: Texts
    scope: str
    click_filter: ClickFilter | None


class SubscriptionOptions(TypedDict, total=False):
    name: str
    link_id: int | None
    scope: str
    click_filter: ClickFilter | None


class SubscriptionFilters(TypedDict, total=False):
    page: int
    results_per_page: int
    search: str
    order_by: str
    order_type: str


class HandlerSettings(PushOptions, total=False):
    """Only the settings of the handler's type are read."""

    chat_a: str
    chat_b: str
    chat_c: str
    chat_c_chat_id: str
    chat_d: str
    email: str
    google_chat: str
    gotify: str
    gotify_token: str
    matrix: str
    matrix_room_id: str
    matrix_token: str
    mattermost: str
    ntfy: str
    ntfy_topic: str
    ntfy_token: str | None
    pushover: str
    pushover_user_key: str
    webhook: str
    webhook_template: str | None


class HandlerFields(HandlerSettings, total=False):
    type: str
    name: str
    is_enabled: bool


class ProjectFields(TypedDict, total=False):
    name: str
    color: str | None


class DomainOptions(TypedDict, total=False):
    scheme: str | None
    custom_index_url: str | None
    custom_not_found_url: str | None
    is_enabled: bool


class DomainFields(DomainOptions, total=False):
    host: str


class Paging(TypedDict, total=False):
    """What every list accepts."""

    page: int
    results_per_page: int
    order_by: str
    order_type: str


class LinkFilters(Paging, total=False):
    search: str
    search_by: str
    type: str
    is_enabled: bool
    project_id: int
    domain_id: int
    pixel_id: int
    tag: str
    datetime_start: dt.datetime | str
    datetime_end: dt.datetime | str


class PixelFilters(Paging, total=False):
    search: str
    type: str


class HandlerFilters(Paging, total=False):
    search: str
    type: str
    is_enabled: bool


class DeliveryFilters(Paging, total=False):
    status: str
    type: str


class ProjectFilters(Paging, total=False):
    search: str


class DomainFilters(Paging, total=False):
    search: str
    is_enabled: bool
    is_verified: bool


class AuditFilters(Paging, total=False):
    group: str
    action: str
    actor_email: str
    datetime_start: dt.datetime | str
    datetime_end: dt.datetime | str


class MemberFilters(Paging, total=False):
    role: str


class TrashFilters(Paging, total=False):
    type: str


class VisitorProfile(TypedDict, total=False):
    """A visitor to simulate."""

    ip: str
    country_code: str
    continent_code: str
    city_name: str
    user_agent: str
    device_type: str
    os_name: str
    browser_name: str
    accept_language: str
    query: str
    referrer: str
    at: dt.datetime | str
    unlocked: bool | str


class QrLook(TypedDict, total=False):
    size: int
    margin: int
    dark: str
    light: str


class StatisticsFilters(TypedDict, total=False):
    """Days are inclusive. The others count only clicks of this value."""

    start_date: dt.date | str
    end_date: dt.date | str
    timezone: str
    bots: bool
    referrer_host: str
    referrer_path: str
    continent_code: str
    country_code: str
    city_name: str
    os_name: str
    browser_name: str
    device_type: str
    browser_language: str
    utm_source: str
    utm_medium: str
    utm_campaign: str
    destination: str


def targeting(kind: str, pairs: Sequence[tuple[str, str]]) -> TargetingFields:
    """The fields of a targeting: `create(url, **targeting("country_code", [("DE", "https://…")]))`."""
    found: dict[str, object] = {
        "targeting_type": kind,
        f"targeting_{kind}_key": [key for key, _ in pairs],
        f"targeting_{kind}_value": [value for _, value in pairs],
    }
    return found  # type: ignore[return-value]  # the server says which kinds there are
