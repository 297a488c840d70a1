"""Summaries for people: what has happened since the last message, added up page by page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from app.events.types import CLICKED

MAX_LINKS = 1000  # that are told apart in one summary; clicks on others count without their links
TOP = 10

Summary = dict[str, Any]


def add_to(summary: Mapping[str, Any] | None, events: Iterable[Mapping[str, Any]]) -> Summary | None:
    """The summary with these events, which have passed the handler's filter. None where there is nothing.

    `links` has the address and the number of clicks of each link by its id, as JSON: a text.
    """
    found: Summary = (
        {"clicks": 0, "links": {}, "others": 0, "changes": {}, "changed": []}
        if summary is None
        else {**summary, "links": dict(summary["links"]), "changes": dict(summary["changes"])}
    )
    is_empty = summary is None
    for event in events:
        is_empty = False
        if event["type"] == CLICKED:
            add_click(found, event["data"]["link"])
        else:
            found["changes"][event["type"]] = found["changes"].get(event["type"], 0) + 1
            if len(found["changed"]) < TOP:
                found["changed"] = [*found["changed"], {"type": event["type"], "link": event["data"]["link"]}]
    return None if is_empty else found


def add_click(summary: Summary, link: Mapping[str, Any]) -> None:
    summary["clicks"] += 1
    links, id_ = summary["links"], str(link["id"])
    if id_ in links:
        links[id_] = [links[id_][0], links[id_][1] + 1]
    elif len(links) < MAX_LINKS:
        links[id_] = [dict(link), 1]
    else:
        summary["others"] += 1


def data_of(summary: Mapping[str, Any]) -> dict[str, Any]:
    """The data of the message: totals, the links with most clicks, and the first changes."""
    most = sorted(summary["links"].values(), key=lambda pair: (-pair[1], pair[0]["id"]))
    return {
        "clicks": summary["clicks"],
        "links_count": len(most),
        "links": [{"link": link, "clicks": clicks} for link, clicks in most[:TOP]],
        "changes": summary["changes"],
        "changed": summary["changed"],
    }
