"""Pages of activity: events by type, link and who made them, in words, and whether there are newer ones."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple

from flask import render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from app.accounts import workspaces
from app.accounts.access import MAX_ID
from app.core.clock import FORMAT
from app.core.errors import FieldError
from app.core.extensions import db
from app.dashboard.links.states import Badge
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.words import words_for
from app.dashboard.shared.workspace import workspace_id
from app.dashboard.statistics.figures import word
from app.events import types
from app.events.feed.backward import OlderPage, read_older
from app.events.feed.cursors import CursorGone
from app.events.feed.entry_reader import FeedFilter
from app.events.feed.reading import Event, newest_cursor, read
from app.events.types import TYPES
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.listing import one_of
from app.input.params import ParamReader
from app.input.parsers import parse_integer
from app.links.aliases import key_of
from app.links.models import Alias
from app.links.schema import SETTINGS
from app.notifications.site import site_of
from app.web.application import settings
from app.web.body import read_params

LABELS: Mapping[str, str] = words_for("event_types")
TONES: Mapping[str, str] = {
    types.CREATED: "good",
    types.RESTORED: "good",
    types.RECOVERED: "good",
    types.DELETED: "warn",
    types.LIMIT_REACHED: "warn",
    types.FAILING: "bad",
}
WAYPOST = "Waypost"
OPERATOR = _l("The operator, on the command line")
# fields whose values name rows of other tables: that they changed says enough
REFERENCES = {"project_id", "domain_id", "pixels_ids", "email_reports"}
MAX_VALUE = 160  # characters


class EventWords(NamedTuple):
    """One event as the page shows it."""

    id: str
    moment: dt.datetime
    state: Badge
    link_id: int
    url: str
    short_url: str
    details: list[str]
    actor: str


def describe_event(event: Event) -> EventWords:
    link = event["data"]["link"]
    return EventWords(
        event["id"],
        dt.datetime.strptime(event["datetime"], FORMAT).replace(tzinfo=dt.UTC),
        Badge(LABELS[event["type"]], TONES.get(event["type"], "")),
        link["id"],
        link["url"] or "",
        link["short_url"] or "",
        [*details_of(event)],
        describe_actor(event["data"].get("actor")),
    )


def details_of(event: Event) -> Iterator[str]:
    data = event["data"]
    if event["type"] == types.CLICKED:
        yield from details_of_click(data)
    elif event["type"] == types.CREATED:
        yield data["link"]["location_url"] or ""
    elif event["type"] == types.FAILING:
        yield data["reason"]
    for name, (before, after) in data.get("changes", {}).items():
        yield describe_change(name, before, after)


def details_of_click(click: Mapping[str, Any]) -> Iterator[str]:
    if click["is_bot"]:
        yield _("Bot")
    if click["country_code"]:
        yield word("country_code", click["country_code"])
    for name in ("city_name", "browser_name", "os_name"):
        if click[name]:
            yield click[name]
    yield word("referrer_host", click["referrer_host"])


def describe_change(name: str, before: Any, after: Any) -> str:
    label = SETTINGS[name].label if name in SETTINGS else name
    if name in REFERENCES:
        return str(label)
    return f"{label}: {describe_value(before)} → {describe_value(after)}"


def describe_value(value: Any) -> str:
    if value is None or value in ("", []):
        return "–"
    if isinstance(value, bool):
        return _("On") if value else _("Off")
    if isinstance(value, list):
        value = ", ".join(f"{one['key']} → {one['value']}" if isinstance(one, dict) else one for one in value)
    text = str(value)
    return text if len(text) <= MAX_VALUE else f"{text[:MAX_VALUE]}…"


def describe_actor(actor: Mapping[str, Any] | None) -> str:
    """Who did it; "" where nobody did, as of a click."""
    if actor is None:
        return ""
    if actor["type"] == "system":
        return WAYPOST
    if actor["type"] == "operator":
        return str(OPERATOR)
    if actor["type"] == "key":
        return _("API key “%(name)s”", name=actor["name"] or "")
    return str(actor["name"] or WAYPOST)


ON_A_PAGE = 50
NO_LINK = _l("No link has this alias.")
CHANGES = frozenset(type_ for type_ in TYPES if type_ != "link.clicked")


class ActivityQuery(NamedTuple):
    """What the address asks for. `actor_id`: a member, None for all. `problems`: what can't be used."""

    type: str
    alias: str
    link_id: int | None
    actor_id: int | None
    before: str
    problems: list[FieldError]

    @property
    def filter(self) -> FeedFilter:
        types = frozenset({self.type}) if self.type else CHANGES if self.actor_id else None
        return FeedFilter(workspace_id(), types, self.link_id)

    @property
    def filters(self) -> dict[str, Any]:
        """The parameters that an address of another page of the same repeats."""
        named = {"type": self.type, "link": self.alias, "actor": self.actor_id}
        return {name: value for name, value in named.items() if value}

    @property
    def is_wanted(self) -> Callable[[Event], bool]:
        if self.actor_id is None:
            return lambda _event: True
        return lambda event: event["data"].get("actor", {}).get("id") == self.actor_id


@blueprint.get("/activity/", endpoint="activity")
def show() -> ResponseReturnValue:
    query = read_activity_query()
    page = OlderPage([], None)
    seen = newest_cursor(db.session, workspace_id())  # before the events: what comes meanwhile is newer
    if not query.problems:
        try:
            page = find_events(query)
        except CursorGone as gone:
            query.problems.extend(gone.errors)
    body = render_template(
        "dashboard/activity/page.html",
        here="activity",
        events=[describe_event(event) for event in page.events],
        query=query,
        types=LABELS,
        members=workspaces.members(workspace_id()),
        next_page=address_of(query.filters, before=page.older) if page.older else "",
        first_page=address_of(query.filters) if query.before else "",
        news="" if query.before or query.problems else news_address(query, seen),
        address_of=address_of,
        zone=rendering.owner_zone(),
    )
    return body, 422 if query.problems else 200


@blueprint.get("/activity/news", endpoint="activity_news")
def show_news() -> ResponseReturnValue:
    """Whether there are newer events than the page shows: a link to them, else what asks again."""
    query = read_activity_query()
    seen = read_params().get("seen", "")
    has_news, news = False, ""
    try:
        found = find_newer(query, seen)
        has_news, news = bool(found.events), news_address(query, found.next)
    except CursorGone:
        has_news = True  # a page that was open for months
    return render_template(
        "dashboard/activity/_news.html", has_news=has_news, news=news, first_page=address_of(query.filters)
    )


def find_events(query: ActivityQuery) -> OlderPage:
    return read_older(
        db.session,
        site_of(settings()),
        query.filter,
        query.before or None,
        limit=ON_A_PAGE,
        is_wanted=query.is_wanted,
    )


def find_newer(query: ActivityQuery, seen: str) -> Any:
    wanted = query.filter
    found = read(
        db.session,
        site_of(settings()),
        wanted.workspace_id,
        seen,
        types=wanted.types,
        link_id=wanted.link_id,
        limit=ON_A_PAGE,
    )
    return found._replace(events=[event for event in found.events if query.is_wanted(event)])


def read_activity_query() -> ActivityQuery:
    params = read_params()
    reader = ParamReader(params, ignores_empty=True)
    alias = alias_of(reader.read("link", "", str))
    link_id = find_link(alias) if alias else None
    if alias and link_id is None:
        reader.problems.append(FieldError(NO_LINK, "not_found", "link"))
    return ActivityQuery(
        reader.read("type", "", one_of(TYPES)),
        alias,
        link_id,
        reader.read("actor", None, lambda text: parse_integer(text, 1, MAX_ID)),
        reader.read("before", "", str),
        reader.problems,
    )


def alias_of(text: str) -> str:
    """The alias of what was typed: itself, or that of a whole short link."""
    scheme, is_whole, rest = text.strip().partition("://")
    return (rest.partition("/")[2] if is_whole else scheme).strip("/")


def find_link(alias: str) -> int | None:
    """The newest of the workspace's links with this alias, on whichever domain."""
    mine = select(Alias.link_id).where(Alias.workspace_id == workspace_id(), Alias.key == key_of(alias))
    return db.session.scalar(mine.where(Alias.link_id.is_not(None)).order_by(Alias.link_id.desc()).limit(1))


def address_of(filters: Mapping[str, Any], **more: Any) -> str:
    return url_for("dashboard.activity", **{**filters, **more})


def news_address(query: ActivityQuery, seen: str) -> str:
    return url_for("dashboard.activity_news", **query.filters, seen=seen)
