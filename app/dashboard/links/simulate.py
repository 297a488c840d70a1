"""What does an owner see who tries his link as somebody else would?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from flask import Blueprint, Response, url_for

from app.bodies import read_query
from app.dashboard import pages
from app.dashboard.family import Context
from app.dashboard.guard import user
from app.dashboard.link_rows import short_address, short_url
from app.dashboard.try_controls import controls
from app.dashboard.verdicts import QUESTIONS, verdict_on
from app.dashboard.wordings import facts, in_words
from app.errors import FieldError, Invalid
from app.links.models import Link
from app.ownership import get_owned
from app.public.here import desk
from app.sent import Sent
from app.visits.explained import Explanation, explained
from app.visits.supposed import Supposed
from app.visits.supposing import supposed

LABELS = {
    "country_code": "Country",
    "continent_code": "Continent",
    "city_name": "City",
    "ip": "Internet address",
    "device_type": "Device",
    "os_name": "System",
    "browser_name": "Browser",
    "user_agent": "User agent",
    "accept_language": "Language",
    "at": "Time",
    "referrer": "From",
    "query": "Parameters",
    "unlocked": "Has passed",
}
PREVIEW = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
NO_DEVICE = dict.fromkeys(("device_type", "os_name", "browser_name", "user_agent"))
QUICK: Mapping[str, Mapping[str, str]] = {
    "iPhone": {"device_type": "mobile", "os_name": "iOS", "browser_name": "Safari"},
    "Android phone": {"device_type": "mobile", "os_name": "Android", "browser_name": "Chrome"},
    "Tablet": {"device_type": "tablet", "os_name": "iOS", "browser_name": "Safari"},
    "Windows": {"device_type": "desktop", "os_name": "Windows", "browser_name": "Edge"},
    "Mac": {"device_type": "desktop", "os_name": "macOS", "browser_name": "Safari"},
    "Preview bot": {"user_agent": PREVIEW},
}


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/links/<int:id>/try", "links_try", show)


def show(id: int) -> Response:
    """The page, or for htmx the answer alone; both at an address that can be kept and sent on."""
    link = get_owned(user(), Link, id)
    asked = typed()
    told, wrong = answer(link, asked)
    context = {
        "link": link,
        "here": "links",
        "address": short_address(link),
        "short_url": short_url(link),
        "labels": LABELS,
        "wrong": wrong,
        **quick(link, asked),
        **(answered(told) if told else {}),
        **({} if pages.is_fragment() else controls(link, asked, wrong)),
    }
    status = 422 if wrong else 200
    response = pages.page(
        "dashboard/links/try.html", "dashboard/links/_answer.html", status=status, **context
    )
    if pages.is_fragment():  # without the controls that say nothing
        response.headers["HX-Push-Url"] = try_address(link, asked)
    return response


def try_address(link: Link, asked: Mapping[str, Any]) -> str:
    return url_for("dashboard.links_try", id=link.id, **asked)


# ------------------------------------------------------------------- asking


def typed() -> dict[str, Any]:
    """What the controls say. An empty one supposes nothing; a query may be pasted with its `?`."""
    sent = Sent(read_query())
    found: dict[str, Any] = {
        name: str(sent.last(name)) for name in LABELS if name in sent and sent.last(name) != ""
    }
    if "query" in found:
        found["query"] = found["query"].removeprefix("?").replace(" ", "%20")
    if "unlocked" in found:
        found["unlocked"] = [str(value) for _, value in sent.members("unlocked")]
    return found


def answer(link: Link, asked: Mapping[str, Any]) -> tuple[Explanation | None, Sequence[FieldError]]:
    try:
        return explained(desk(), link, supposed_by(asked)), ()
    except Invalid as invalid:
        return None, invalid.errors


def supposed_by(asked: Mapping[str, Any]) -> Supposed:
    values = [(name, value if isinstance(value, list) else [value]) for name, value in asked.items()]
    return supposed(Sent((name, each) for name, many in values for each in many), pages.zone())


# ---------------------------------------------------------------- answering


def answered(told: Explanation) -> Context:
    steps = told.outcome.steps
    seen = {step.step for step in steps}
    return {
        "outcome": told.outcome,
        "verdict": verdict_on(told.outcome, is_bot=told.visitor.is_bot),
        "steps": [in_words(step, told.outcome, pages.zone()) for step in steps],
        "questions": QUESTIONS,
        "left": [question for name, question in QUESTIONS.items() if name not in seen and name != "link"],
        "visitor": told.visitor,
        "facts": facts(told, pages.zone()),
        "attribution": desk().places.status.attribution if told.visitor.supposed.ip else None,
    }


def quick(link: Link, asked: Mapping[str, Any]) -> Context:
    """Usual visitors: each a word, its address with whatever else is supposed, and whether it is this one."""
    return {
        "start": try_address(link, {}),
        "is_asked": bool(asked),
        "quick": [
            (word, try_address(link, {**asked, **NO_DEVICE, **parts}), is_as(asked, parts))
            for word, parts in QUICK.items()
        ],
    }


def is_as(asked: Mapping[str, Any], parts: Mapping[str, str]) -> bool:
    return {name: value for name, value in asked.items() if name in NO_DEVICE} == parts
