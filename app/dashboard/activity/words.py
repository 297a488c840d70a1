"""Words for events, as the page of activity shows them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from app.core.clock import FORMAT
from app.dashboard.links.states import Badge
from app.dashboard.statistics.words import word
from app.events import types
from app.events.feed.reading import Event
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.links.schema import SETTINGS

LABELS: Mapping[str, str] = {
    types.CLICKED: _l("Click"),
    types.CREATED: _l("Link created"),
    types.UPDATED: _l("Link changed"),
    types.DELETED: _l("Link deleted"),
    types.RESTORED: _l("Link restored"),
    types.LIMIT_REACHED: _l("Click limit reached"),
    types.STARTED: _l("Link started"),
    types.ENDED: _l("Link ended"),
    types.FAILING: _l("Destination fails"),
    types.RECOVERED: _l("Destination works again"),
}
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
    values = {"before": describe_value(before), "after": describe_value(after)}
    return _("%(field)s: %(before)s → %(after)s", field=label, **values)


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
