"""Words for a simulated visitor and the steps of the visit, in the owner's time zone."""

from __future__ import annotations

import datetime as dt
import re

from app.geo.countries import CONTINENTS, COUNTRIES
from app.i18n import dated
from app.i18n.messages import gettext as _
from app.links import targeting
from app.links.language_names import describe_language
from app.redirects.outcomes import Outcome, Step
from app.redirects.simulation.explanation import Explanation

MOMENT = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d")
PAIR = re.compile(r"\bpair (?=\d)")
TYPE = re.compile(rf"^({'|'.join(targeting.TYPES)})(?=: )")


def facts(told: Explanation, zone: dt.tzinfo) -> list[tuple[str, str]]:
    """What is known about the visitor, as icons and words."""
    visitor, device = told.visitor, told.visitor.device
    country = COUNTRIES.get(visitor.country_code, "")
    place = ", ".join(
        word for word in (visitor.city_name, country or CONTINENTS.get(visitor.continent_code)) if word
    )
    kind = targeting.DEVICES.get(device.device_type, "")
    machine = ", ".join(str(word) for word in (kind, device.os_name, device.browser_name) if word)
    tags = visitor.languages
    return [
        (
            "user-round",
            _("Bot: %(bot_name)s", bot_name=visitor.bot_name) if visitor.is_bot else _("A person"),
        ),
        ("globe", place or _("Somewhere unknown")),
        (
            "smartphone" if device.device_type in {"mobile", "tablet"} else "monitor",
            machine or _("Unknown device"),
        ),
        ("message-square", ", ".join(map(describe_language, tags[:4])) or _("No language")),
        ("calendar-clock", format_moment(told.at, zone)),
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
