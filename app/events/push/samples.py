"""Samples of what handlers are sent: made of a workspace's own events, else made up."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from app.core.clock import format_utc, now
from app.core.database import AnySession
from app.events.feed.reading import read
from app.events.push.messages import PushedMessage, messages_of
from app.events.types import (
    CLICKED,
    CREATED,
    DELETED,
    ENDED,
    FAILING,
    LIMIT_REACHED,
    RECOVERED,
    RESTORED,
    STARTED,
    UPDATED,
)
from app.input.parsers import parse_datetime
from app.notifications.event_types import OF_FEED
from app.notifications.site import SiteUrls

MAX_SAMPLES = 3
MAX_PAGES = 5  # of the feed that are looked through
MOMENT = "2026-01-31 18:30:00"
ACTOR = {"type": "user", "id": 1, "name": "Ann", "via": "dashboard"}


def sample_link(site: SiteUrls) -> dict[str, Any]:
    return {"id": 1, "url": "launch", "short_url": site.short_url("launch")}


def sample_click(site: SiteUrls) -> dict[str, Any]:
    """A click with a value for each key."""
    return {
        "id": "clk_1",
        "datetime": MOMENT,
        "link": sample_link(site),
        "destination": "https://example.com/",
        "is_bot": False,
        "continent_code": "EU",
        "country_code": "DE",
        "city_name": "Berlin",
        "os_name": "iOS",
        "browser_name": "Safari",
        "device_type": "mobile",
        "browser_language": "de",
        "referrer_host": "news.example",
        "referrer_path": "/today",
        "utm_source": "newsletter",
        "utm_medium": "email",
        "utm_campaign": "launch",
    }


# what the data of each other type has beside the link
FACTS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        CREATED: {"actor": ACTOR},
        UPDATED: {"actor": ACTOR, "changes": {"title": [None, "Launch"]}},
        DELETED: {"actor": ACTOR},
        RESTORED: {"actor": ACTOR},
        LIMIT_REACHED: {"clicks_limit": 500},
        STARTED: {"start_date": MOMENT},
        ENDED: {"end_date": MOMENT},
        FAILING: {"reason": "The server answered 500 Internal Server Error."},
        RECOVERED: {"failing_since": MOMENT},
    }
)


def sample_event(type_: str, site: SiteUrls) -> dict[str, Any]:
    """A made-up event of a type, as the feed has it."""
    if type_ == CLICKED:
        return {"id": "clk_1", "type": type_, "datetime": MOMENT, "data": sample_click(site)}
    link = {**sample_link(site), "location_url": "https://example.com/", "clicks": 500}
    return {"id": "evt_sample", "type": type_, "datetime": MOMENT, "data": {"link": link, **FACTS[type_]}}


def recent_events(
    session: AnySession, site: SiteUrls, workspace_id: int, type_: str
) -> Sequence[Mapping[str, Any]]:
    """Some events of this type of the workspace, as far as they are found soon."""
    cursor, found = None, []
    for _ in range(MAX_PAGES):
        page = read(session, site, workspace_id, cursor, types=frozenset({type_}), limit=MAX_SAMPLES)
        found, cursor = [*found, *page.events][:MAX_SAMPLES], page.next
        if len(found) == MAX_SAMPLES or not page.is_more:
            break
    return found


def message_of_event(event: Mapping[str, Any]) -> PushedMessage:
    """What a program is sent of one event."""
    if event["type"] in OF_FEED:
        return messages_of([event])[0]
    return PushedMessage(event["type"], dict(event["data"]), parse_datetime(event["datetime"]))


def body_of(message: PushedMessage) -> dict[str, Any]:
    """The body of a webhook."""
    timestamp = (format_utc(message.datetime) or "").replace(" ", "T") + "Z"
    return {"type": message.type, "timestamp": timestamp, "data": message.data}


def bodies(session: AnySession, site: SiteUrls, workspace_id: int, type_: str) -> list[dict[str, Any]]:
    """Bodies as they are sent, of events that were; else a made-up one, which says that it is one."""
    events = recent_events(session, site, workspace_id, type_)
    if events:
        return [{**body_of(message_of_event(event)), "is_sample": False} for event in reversed(events)]
    message = message_of_event(sample_event(type_, site))._replace(datetime=now())
    return [{**body_of(message), "is_sample": True}]
