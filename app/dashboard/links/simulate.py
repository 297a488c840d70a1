"""Page "Try as visitor": resolves a link for a simulated visitor, without counting, and says why."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from flask import Response, url_for

from app.accounts.access import get_owned
from app.core.errors import FieldError, Invalid
from app.dashboard.auth.access import signed_in_user
from app.dashboard.links.rows import short_address, short_url
from app.dashboard.links.verdicts import QUESTIONS, verdict_on
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.crud_views import Context
from app.dashboard.shared.workspace import current_access
from app.geo.names import CONTINENT_NAMES, COUNTRY_NAMES
from app.i18n import dated
from app.i18n.messages import gettext
from app.i18n.messages import gettext as _
from app.i18n.messages import gettext_noop as _noop
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData
from app.links import targeting
from app.links.language_names import LANGUAGES, describe_language, find_language
from app.links.models import Link
from app.redirects.outcomes import Outcome, Step
from app.redirects.request_context import redirect_context
from app.redirects.simulation.explanation import Explanation, explain
from app.redirects.simulation.params import read_profile
from app.redirects.simulation.visitor import VisitorProfile
from app.web.body import read_query

# what the dashboard words in its own way in the details of steps
MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
PAIR = re.compile(r"\bpair (?=\d)")
TYPE = re.compile(rf"^({'|'.join(targeting.TYPES)})(?=: )")
LABELS = {
    "country_code": _l("Country"),
    "continent_code": _l("Continent"),
    "city_name": _l("City"),
    "ip": _l("Internet address"),
    "device_type": _l("Device"),
    "os_name": _l("System"),
    "browser_name": _l("Browser"),
    "user_agent": _l("User agent"),
    "accept_language": _l("Language"),
    "at": _l("Time"),
    "referrer": _l("From"),
    "query": _l("Parameters"),
    "unlocked": _l("Has passed"),
}
PREVIEW = "Mozilla/5.0 (compatible; Googlebot/2.1; +http://www.google.com/bot.html)"
NO_DEVICE = dict.fromkeys(("device_type", "os_name", "browser_name", "user_agent"))
QUICK: Mapping[str, Mapping[str, str]] = {
    "iPhone": {"device_type": "mobile", "os_name": "iOS", "browser_name": "Safari"},
    _noop("Android phone"): {"device_type": "mobile", "os_name": "Android", "browser_name": "Chrome"},
    _noop("Tablet"): {"device_type": "tablet", "os_name": "iOS", "browser_name": "Safari"},
    "Windows": {"device_type": "desktop", "os_name": "Windows", "browser_name": "Edge"},
    "Mac": {"device_type": "desktop", "os_name": "macOS", "browser_name": "Safari"},
    _noop("Preview bot"): {"user_agent": PREVIEW},
}


@blueprint.get("/links/<int:id>/try", endpoint="links_try")
def show(id: int) -> Response:
    """The page, or for htmx the result alone. All parameters are in the address, so it can be shared."""
    link = get_owned(current_access(), Link, id)
    params = read_simulation_params()
    explanation, wrong = explain_visit(link, params)
    context = {
        "link": link,
        "here": "links",
        "address": short_address(link),
        "short_url": short_url(link),
        "labels": LABELS,
        "wrong": wrong,
        **quick(link, params),
        **(explanation_context(explanation) if explanation else {}),
        **({} if rendering.is_fragment() else controls(link, params, wrong)),
    }
    status = 422 if wrong else 200
    response = rendering.render_page(
        "dashboard/links/try.html", "dashboard/links/_answer.html", status=status, **context
    )
    if rendering.is_fragment():  # without the empty controls
        response.headers["HX-Push-Url"] = try_address(link, params)
    return response


def try_address(link: Link, params: Mapping[str, Any]) -> str:
    return url_for("dashboard.links_try", id=link.id, **params)


# --------------------------------------------------------------- parameters


def read_simulation_params() -> dict[str, Any]:
    """The values of the controls, without empty ones. A query may have its `?`, a language its name."""
    sent = RequestData(read_query())
    found: dict[str, Any] = {
        name: str(sent.last(name)) for name in LABELS if name in sent and sent.last(name) != ""
    }
    if "query" in found:
        found["query"] = found["query"].removeprefix("?").replace(" ", "%20")
    if "accept_language" in found:
        found["accept_language"] = find_language(found["accept_language"]) or found["accept_language"]
    if "unlocked" in found:
        found["unlocked"] = [str(value) for _, value in sent.members("unlocked")]
    return found


def explain_visit(link: Link, params: Mapping[str, Any]) -> tuple[Explanation | None, Sequence[FieldError]]:
    try:
        return explain(redirect_context(), link, profile_from_query(params)), ()
    except Invalid as invalid:
        return None, invalid.errors


def profile_from_query(params: Mapping[str, Any]) -> VisitorProfile:
    values = [(name, value if isinstance(value, list) else [value]) for name, value in params.items()]
    return read_profile(
        RequestData((name, each) for name, many in values for each in many), rendering.owner_zone()
    )


# ------------------------------------------------------------------- result


def explanation_context(explanation: Explanation) -> Context:
    steps = explanation.outcome.steps
    seen = {step.step for step in steps}
    return {
        "outcome": explanation.outcome,
        "verdict": verdict_on(explanation.outcome, is_bot=explanation.visitor.is_bot),
        "steps": [in_words(step, explanation.outcome, rendering.owner_zone()) for step in steps],
        "questions": QUESTIONS,
        "left": [question for name, question in QUESTIONS.items() if name not in seen and name != "link"],
        "visitor": explanation.visitor,
        "facts": visitor_facts(explanation, rendering.owner_zone()),
        "attribution": redirect_context().geolocation.status.attribution
        if explanation.visitor.profile.ip
        else None,
    }


def quick(link: Link, params: Mapping[str, Any]) -> Context:
    """Usual visitors: word, address that keeps the other parameters, and whether it is the current one."""
    return {
        "start": try_address(link, {}),
        "is_asked": bool(params),
        "quick": [
            (gettext(word), try_address(link, {**params, **NO_DEVICE, **parts}), is_as(params, parts))
            for word, parts in QUICK.items()
        ],
    }


def is_as(params: Mapping[str, Any], parts: Mapping[str, str]) -> bool:
    return {name: value for name, value in params.items() if name in NO_DEVICE} == parts


# ----------------------------------------------------------------- in words


def visitor_facts(explanation: Explanation, zone: dt.tzinfo) -> list[tuple[str, str]]:
    """What is known about the visitor, as icons and words."""
    visitor, device = explanation.visitor, explanation.visitor.device
    country = COUNTRY_NAMES.get(visitor.country_code, "")
    place = ", ".join(
        word for word in (visitor.city_name, country or CONTINENT_NAMES.get(visitor.continent_code)) if word
    )
    kind = targeting.DEVICES.get(device.device_type, "")
    machine = ", ".join(str(word) for word in (kind, device.os_name, device.browser_name) if word)
    tags = visitor.languages
    return [
        (
            "user-round",
            _("Bot: %(bot_name)s", bot_name=visitor.bot_name) if visitor.is_bot else _("A person"),
        ),
        ("globe", place or _("Unknown")),
        (
            "smartphone" if device.device_type in {"mobile", "tablet"} else "monitor",
            machine or _("Unknown device"),
        ),
        ("message-square", ", ".join(map(describe_language, tags[:4])) or _("No language")),
        ("calendar-clock", format_moment(explanation.at, zone)),
    ]


def in_words(step: Step, outcome: Outcome, zone: dt.tzinfo) -> Step:
    """The step with its detail in the dashboard's words and the owner's time zone."""
    detail = MOMENT.sub(lambda found: of_utc(found[0], zone), str(step.detail))
    detail = PAIR.sub("line ", TYPE.sub(lambda found: str(targeting.TYPES[found[1]].label), detail))
    if step.step == "query" and step.matched and outcome.destination and outcome.location:
        detail = _(
            "From %(destination)s to %(location)s", destination=outcome.destination, location=outcome.location
        )
    return step._replace(detail=detail[:1].upper() + detail[1:])


def of_utc(text: str, zone: dt.tzinfo) -> str:
    return format_moment(dt.datetime.fromisoformat(text).replace(tzinfo=dt.UTC), zone)


def format_moment(moment: dt.datetime, zone: dt.tzinfo) -> str:
    """To the minute, or to the second if it is not a full minute: starts and ends are exact."""
    here = moment.astimezone(zone)
    return dated(here, "d MMMM y, HH:mm:ss" if here.second else "d MMMM y, HH:mm")


# ----------------------------------------------------------------- controls


# the section with the controls for a type of targeting
FOLD_OF = {
    "continent_code": "place",
    "country_code": "place",
    "city_name": "place",
    "device_type": "device",
    "os_name": "device",
    "browser_name": "device",
    "browser_language": "language",
}
PARTS = {
    "place": ("country_code", "city_name", "continent_code", "ip"),
    "device": ("device_type", "os_name", "browser_name", "user_agent"),
    "language": ("accept_language",),
    "way": ("at", "referrer", "query"),
}
WORDS: Mapping[str, Mapping[str, str]] = {
    "country_code": COUNTRY_NAMES,
    "continent_code": CONTINENT_NAMES,
    "device_type": targeting.DEVICES,
}


@dataclass(frozen=True)
class SimulationControl:
    """One control, with the attributes that the macros of `_fields.html` read from a field."""

    name: str
    value: str = ""
    errors: Sequence[str] = field(default_factory=list)
    required: bool = False

    @property
    def id(self) -> str:
        return f"try-{self.name}"

    def raw_text(self) -> str:
        return self.value


def controls(link: Link, params: Mapping[str, Any], wrong: Sequence[FieldError]) -> Context:
    return {
        "control": {name: build_control(name, params, wrong) for names in PARTS.values() for name in names},
        "unlocked": params.get("unlocked", []),
        "says": {fold: control_summary(fold, params) for fold in PARTS},
        "wrong_in": {fold: is_wrong(fold, wrong) for fold in PARTS},
        "open": {fold: is_open(fold, link, wrong) for fold in PARTS},
        "types": targeting.TYPES,
        "countries": list(COUNTRY_NAMES.items()),
        "continents": CONTINENT_NAMES.items(),
        "languages": LANGUAGES,
        "zone_name": signed_in_user().timezone.replace("_", " "),
        "has_places": redirect_context().geolocation.status.state == "ok",
    }


def build_control(name: str, params: Mapping[str, Any], wrong: Sequence[FieldError]) -> SimulationControl:
    return SimulationControl(
        name, params.get(name, ""), [error.title for error in wrong if error.field == name]
    )


def is_open(fold: str, link: Link, wrong: Sequence[FieldError]) -> bool:
    """Whether a section is open: the link's targeting depends on it, or it has an error."""
    return FOLD_OF.get(link.targeting_type or "") == fold or is_wrong(fold, wrong)


def is_wrong(fold: str, wrong: Sequence[FieldError]) -> bool:
    return any(error.field in PARTS[fold] for error in wrong)


def control_summary(fold: str, params: Mapping[str, Any]) -> list[str]:
    """The summary of a closed section."""
    return [WORDS.get(name, {}).get(params[name], params[name]) for name in PARTS[fold] if name in params]
