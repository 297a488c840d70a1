"""The API's objects as dataclasses. Fields that this version does not know are kept in `extra`.

Times are aware datetimes in UTC. A field is written here once: reading and writing derive from its type.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from types import NoneType, UnionType
from typing import Any, Generic, TypeVar, get_args, get_origin, get_type_hints

from waypost_client.errors import UnreadableAnswer

TIME = "%Y-%m-%d %H:%M:%S"
T = TypeVar("T")
ABOUT = frozenset({"extra", "etag"})  # of an object, and none of its fields


@dataclass(frozen=True, kw_only=True)
class ApiObject:
    """What all objects have beside their fields.

    `extra`: fields that a newer server sends and this version does not know. `etag`: the state that it was
    read in, for `if_match`; empty where the API gives none, as in lists.
    """

    extra: Mapping[str, Any] = field(default_factory=dict, repr=False)
    etag: str = field(default="", repr=False, compare=False)


@dataclass(frozen=True, kw_only=True)
class Pair(ApiObject):
    """One pair of targeting: visitors of `key` are redirected to `value`."""

    key: str
    value: str


@dataclass(frozen=True, kw_only=True)
class LinkSettings(ApiObject):
    """A link's gate and targeting. Only the list of the chosen targeting type is there."""

    password: str | None
    sensitive_content: bool
    targeting_continent_code: list[Pair] | None = None
    targeting_country_code: list[Pair] | None = None
    targeting_city_name: list[Pair] | None = None
    targeting_device_type: list[Pair] | None = None
    targeting_browser_language: list[Pair] | None = None
    targeting_rotation: list[Pair] | None = None
    targeting_os_name: list[Pair] | None = None
    targeting_browser_name: list[Pair] | None = None


@dataclass(frozen=True, kw_only=True)
class Link(ApiObject):
    """A short link."""

    id: int
    project_id: int | None
    domain_id: int
    type: str
    url: str
    location_url: str
    settings: LinkSettings
    clicks: int
    order: int
    start_date: dt.datetime | None
    end_date: dt.datetime | None
    datetime: dt.datetime
    is_enabled: bool
    last_datetime: dt.datetime | None
    short_url: str
    title: str | None
    notes: str | None
    tags: list[str]
    pixels_ids: list[int]
    email_reports: list[int]
    clicks_limit: int | None
    expiration_url: str | None
    schedule: bool
    http_status_code: int
    app_linking_is_enabled: bool
    cloaking_is_enabled: bool
    cloaking_title: str | None
    cloaking_meta_description: str | None
    cloaking_custom_js: str | None
    cloaking_favicon: str | None
    cloaking_opengraph: str | None
    forward_query_parameters_is_enabled: bool
    utm_source: str | None
    utm_medium: str | None
    utm_campaign: str | None
    targeting_type: str | None
    clicks_limit_confirmation_is_enabled: bool

    @property
    def targeting(self) -> list[Pair]:
        """The pairs of the chosen targeting type; empty without one."""
        found: list[Pair] | None = getattr(self.settings, f"targeting_{self.targeting_type}", None)
        return found or []


@dataclass(frozen=True, kw_only=True)
class Pixel(ApiObject):
    """A tracking pixel."""

    id: int
    type: str
    name: str
    pixel: str
    last_datetime: dt.datetime | None
    datetime: dt.datetime


@dataclass(frozen=True, kw_only=True)
class NotificationHandler(ApiObject):
    """Who is notified. `settings` has the fields of its type; for a read-only key its secrets are masked."""

    id: int
    type: str
    name: str
    settings: dict[str, Any]
    is_enabled: bool
    last_datetime: dt.datetime | None
    datetime: dt.datetime
    is_confirmed: bool
    events: list[str]
    scope: str
    click_filter: dict[str, Any] | None


@dataclass(frozen=True, kw_only=True)
class Subscription(ApiObject):
    """An address that events are sent to. For a read-only key its address and secret are masked."""

    id: int
    name: str
    target_url: str | None
    secret: str | None
    events: list[str]
    scope: str
    click_filter: dict[str, Any] | None
    link_id: int | None
    is_enabled: bool
    datetime: dt.datetime


@dataclass(frozen=True, kw_only=True)
class PushedBody(ApiObject):
    """What a subscribed address gets. `is_sample`: made up, since there is no such event yet."""

    type: str
    timestamp: str
    data: dict[str, Any]
    is_sample: bool | None = None


@dataclass(frozen=True, kw_only=True)
class Event(ApiObject):
    """A click or a change. Its id stays the same for ever."""

    id: str
    type: str
    datetime: dt.datetime
    data: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class FeedMeta(ApiObject):
    """`next`: the cursor to go on with, at the end of the feed too. `is_more`: read on at once."""

    next: str
    is_more: bool


@dataclass(frozen=True, kw_only=True)
class FeedPage:
    """A page of the feed of events, oldest first."""

    data: list[Event]
    meta: FeedMeta


@dataclass(frozen=True, kw_only=True)
class Attempt(ApiObject):
    """One try to send a delivery."""

    datetime: dt.datetime
    status_code: int | None
    detail: str
    duration_ms: int | None


@dataclass(frozen=True, kw_only=True)
class Delivery(ApiObject):
    """One message to a handler, with every attempt."""

    id: int
    type: str
    status: str
    attempts: list[Attempt]
    next_attempt: dt.datetime | None
    datetime: dt.datetime


@dataclass(frozen=True, kw_only=True)
class Trial(ApiObject):
    """What became of a test message."""

    delivery_id: int
    status: str
    detail: str | None


@dataclass(frozen=True, kw_only=True)
class Project(ApiObject):
    """A group of links."""

    id: int
    name: str
    color: str
    last_datetime: dt.datetime | None
    datetime: dt.datetime


@dataclass(frozen=True, kw_only=True)
class DomainProof(ApiObject):
    """What proves the ownership of a domain: either of the two."""

    txt_name: str
    txt_value: str
    file_url: str
    file_content: str


@dataclass(frozen=True, kw_only=True)
class DomainWarning(ApiObject):
    """Something about a domain that its owner should know."""

    code: str
    detail: str


@dataclass(frozen=True, kw_only=True)
class Domain(ApiObject):
    """A domain of one's own."""

    id: int
    host: str
    scheme: str
    custom_index_url: str | None
    custom_not_found_url: str | None
    is_enabled: bool
    is_verified: bool
    verification: DomainProof
    warnings: list[DomainWarning]
    last_datetime: dt.datetime | None
    datetime: dt.datetime


@dataclass(frozen=True, kw_only=True)
class Check(ApiObject):
    """Whether one proof of a domain was found."""

    method: str
    is_found: bool
    detail: str


@dataclass(frozen=True, kw_only=True)
class Verification(ApiObject):
    """What a look for the proofs of a domain found."""

    is_verified: bool
    checks: list[Check]


@dataclass(frozen=True, kw_only=True)
class Step(ApiObject):
    """One step of an explanation."""

    step: str
    matched: bool | None
    detail: str | None


@dataclass(frozen=True, kw_only=True)
class Explanation(ApiObject):
    """What a visitor would get, and why."""

    outcome: str
    status: int
    location: str | None
    steps: list[Step]
    visitor: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Trashed(ApiObject):
    """Something in the trash: `row_id` is its id in its own list, `type` which list that was."""

    id: int
    type: str
    row_id: int
    name: str
    detail: str
    datetime: dt.datetime
    purge_datetime: dt.datetime


@dataclass(frozen=True, kw_only=True)
class StatisticsRow(ApiObject):
    """Clicks of one day, hour or country: of which, `extra` says under the name of the report's type."""

    pageviews: int
    visitors: int

    @property
    def value(self) -> Any:
        return next(iter(self.extra.values()), None)


@dataclass(frozen=True, kw_only=True)
class UserWorkspace(ApiObject):
    """The workspace of the key, and the role of its user there."""

    id: int
    name: str
    role: str


@dataclass(frozen=True, kw_only=True)
class Workspace(ApiObject):
    """What rows belong to, with the role of the key's user."""

    id: int
    name: str
    role: str
    last_datetime: dt.datetime | None
    datetime: dt.datetime


@dataclass(frozen=True, kw_only=True)
class Member(ApiObject):
    """Somebody in a workspace."""

    id: int
    user_id: int
    email: str
    name: str
    role: str
    datetime: dt.datetime


@dataclass(frozen=True, kw_only=True)
class Invitation(ApiObject):
    """An invitation to a workspace that is still open."""

    id: int
    email: str
    role: str
    expires_datetime: dt.datetime
    datetime: dt.datetime

    @property
    def url(self) -> str | None:
        """The address where it is accepted. Only the answer to the invitation has it."""
        found: str | None = self.extra.get("url")
        return found


@dataclass(frozen=True, kw_only=True)
class User(ApiObject):
    """Whose key it is."""

    id: int
    email: str
    name: str | None
    timezone: str
    language: str
    is_admin: bool
    datetime: dt.datetime
    workspace: UserWorkspace | None = None  # none from a server before workspaces


@dataclass(frozen=True, kw_only=True)
class AuditEntry(ApiObject):
    """One line of the audit log: who did what, when, to what."""

    id: int
    datetime: dt.datetime
    action: str
    count: int
    account_id: int | None
    account_email: str
    workspace_id: int | None
    actor_way: str
    actor_id: int | None
    actor_email: str
    actor_name: str
    key_prefix: str
    object_type: str
    object_id: int | None
    object_name: str
    changes: dict[str, Any]
    network: str
    request_id: str


@dataclass(frozen=True, kw_only=True)
class Created(ApiObject):
    """Ids of what was created, in the order sent. `id` is the first."""

    id: int
    ids: list[int] | None = None


@dataclass(frozen=True, kw_only=True)
class Meta(ApiObject):
    """Where in a list a page is."""

    page: int
    results_per_page: int
    total: int
    total_pages: int


@dataclass(frozen=True, kw_only=True)
class Neighbours(ApiObject):
    """Addresses of other pages of a list."""

    first: str
    last: str
    next: str | None
    prev: str | None
    self: str


@dataclass(frozen=True, kw_only=True)
class Page(Generic[T]):
    """One page of a list."""

    data: list[T]
    meta: Meta
    links: Neighbours


@dataclass(frozen=True, kw_only=True)
class File:
    """A file that the API answered with, such as a picture or a table."""

    content: bytes
    media_type: str


def decode(kind: Any, value: Any) -> Any:
    """The value of an answer as this type. Raises UnreadableAnswer where it has another form."""
    if get_origin(kind) is UnionType:
        rest = next(one for one in get_args(kind) if one is not NoneType)
        return None if value is None else decode(rest, value)
    if get_origin(kind) is list:
        if not isinstance(value, list):
            raise UnreadableAnswer(f"A list was expected, not {type(value).__name__}.")
        return [decode(get_args(kind)[0], one) for one in value]
    if get_origin(kind) is dict or kind is Any:
        return value
    if kind is dt.datetime:
        return decode_time(value)
    if issubclass(kind, ApiObject):
        return decode_object(kind, value)
    if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
        raise UnreadableAnswer(f"{kind.__name__} was expected, not {type(value).__name__}.")
    return value


def decode_time(value: Any) -> dt.datetime:
    try:
        return dt.datetime.strptime(value, TIME).replace(tzinfo=dt.UTC)
    except (TypeError, ValueError) as error:
        raise UnreadableAnswer(f"A time was expected, not {value!r}.") from error


field_types: Callable[[Any], dict[str, Any]] = cache(get_type_hints)


def decode_object(kind: type[Any], value: Any) -> Any:
    if not isinstance(value, dict):
        raise UnreadableAnswer(f"An object was expected, not {type(value).__name__}.")
    known = {name: hint for name, hint in field_types(kind).items() if name not in ABOUT}
    found = {}
    for name, hint in known.items():
        if name in value:
            found[name] = decode(hint, value[name])
        elif NoneType in get_args(hint):  # an older server does not have it yet
            found[name] = None
        else:
            raise UnreadableAnswer(f"{kind.__name__} has no {name}.")
    return kind(**found, extra={name: one for name, one in value.items() if name not in known})


def encode(value: Any) -> Any:
    """An object as the API sends it, for JSON. Nothing of it is lost."""
    if isinstance(value, ApiObject):
        told = {one.name: getattr(value, one.name) for one in fields(value) if one.name not in ABOUT}
        absent = {one.name for one in fields(value) if one.default is None and told[one.name] is None}
        return {name: encode(one) for name, one in told.items() if name not in absent} | dict(value.extra)
    if isinstance(value, list | tuple):
        return [encode(one) for one in value]
    if isinstance(value, dict):
        return {name: encode(one) for name, one in value.items()}
    if isinstance(value, dt.datetime):
        return value.astimezone(dt.UTC).strftime(TIME)
    return value
