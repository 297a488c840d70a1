"""Texts of messages made from the feed: clicks, changes of links, summaries, and what was skipped."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from app.events.types import CLICKED, CREATED, DELETED, RESTORED, UPDATED
from app.i18n import digits
from app.i18n.messages import gettext as _
from app.i18n.messages import ngettext, ngettext_noop
from app.notifications.events import Facts, facts
from app.notifications.message import Message
from app.notifications.site import SiteUrls, readable

SUMMARY = "events.summary"
SKIPPED = "events.skipped"

Data = Mapping[str, Any]
Words = Callable[[str, Data], tuple[str, str]]


def click_words(_name: str, data: Data) -> tuple[str, str]:
    """Of a batch of clicks."""
    links = {click["link"]["id"]: click["link"]["short_url"] for click in data["clicks"]}
    return clicks_on(len(data["clicks"]), len(links), next(iter(links.values()), "")), ""


def clicks_on(clicks: int, links: int, short_url: str) -> str:
    """How many clicks on how many links; `short_url` is that of the only one."""
    if links > 1:
        return _("%(clicks)s clicks on %(links)s links", clicks=digits(clicks), links=digits(links))
    return ngettext(
        "1 click on %(name)s", "%(clicks)s clicks on %(name)s", clicks,
        clicks=digits(clicks), name=readable(short_url),
    )  # fmt: skip


def by_whom(data: Data) -> str:
    """Who made a change, in a sentence; "" where nobody is known."""
    name = (data.get("actor") or {}).get("name")
    return _("By %(name)s.", name=name) if name else ""


def update_words(name: str, data: Data) -> tuple[str, str]:
    changed = ", ".join(data.get("changes") or ())
    what = _("Changed: %(fields)s.", fields=changed) if changed else ""
    return _("%(name)s was changed", name=name), " ".join(filter(None, [what, by_whom(data)]))


def summary_words(_name: str, data: Data) -> tuple[str, str]:
    sentences = sentences_of(data)
    return sentences[0] if sentences else "", "\n".join(f"{one}." for one in sentences[1:])


# how a summary counts changes of a type
COUNTED = {
    CREATED: ngettext_noop("1 link was created", "%(count)s links were created"),
    UPDATED: ngettext_noop("1 link was changed", "Links were changed %(count)s times"),
    DELETED: ngettext_noop("1 link was deleted", "%(count)s links were deleted"),
    RESTORED: ngettext_noop("1 link was restored", "%(count)s links were restored"),
}


def sentences_of(data: Data) -> Sequence[str]:
    """What a summary says, the clicks first."""
    found = []
    if data["clicks"]:
        short_url = data["links"][0]["link"]["short_url"] if data["links"] else ""
        found.append(clicks_on(data["clicks"], data["links_count"], short_url))
    for type_, forms in COUNTED.items():
        if count := data["changes"].get(type_):
            found.append(ngettext(*forms, count, count=digits(count)))
    return found


def summary_facts(data: Data) -> Facts:
    """The links of a summary with their clicks; where there were none, those that were changed."""
    if data["clicks"]:
        return tuple((readable(one["link"]["short_url"]), digits(one["clicks"])) for one in data["links"])
    return tuple((readable(one["link"]["short_url"]), one["link"]["location_url"]) for one in data["changed"])


def skipped_words(_name: str, data: Data) -> tuple[str, str]:
    title, count = _("Some events were not sent"), data["skipped"]
    if count is None:
        return title, _("How many is not known: they are no longer kept.")
    return title, ngettext(
        "1 event could not be sent in time, and is left out.",
        "%(count)s events could not be sent in time, and are left out.",
        count,
        count=digits(count),
    )


FEED_WORDS: Mapping[str, Words] = {
    CLICKED: click_words,
    CREATED: lambda name, data: (_("%(name)s was created", name=name), by_whom(data)),
    UPDATED: update_words,
    DELETED: lambda name, data: (_("%(name)s was deleted", name=name), by_whom(data)),
    RESTORED: lambda name, data: (_("%(name)s was restored", name=name), by_whom(data)),
    SUMMARY: summary_words,
    SKIPPED: skipped_words,
}


def compose(id: str, type_: str, datetime: dt.datetime, data: Data, site: SiteUrls) -> Message:
    """The message of a batch of clicks, of a change, of a summary, or of what was skipped."""
    link = data.get("link")
    title, text = FEED_WORDS[type_](readable(link["short_url"]) if link else "", data)
    return Message(
        id=id,
        type=type_,
        datetime=datetime,
        data=data,
        title=title,
        text=text,
        facts=summary_facts(data) if type_ == SUMMARY else facts(data),
        url=site.link_page(link["id"]) if link and type_ != DELETED else site.links_page(),
    )
