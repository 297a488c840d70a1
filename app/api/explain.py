"""What would this link answer to a visitor who is only supposed?"""

from __future__ import annotations

from typing import Any

from flask import Response

from app.api import envelope
from app.api.auth import caller
from app.bodies import read_query
from app.clock import written
from app.links.models import Link
from app.ownership import get_owned
from app.public.here import desk
from app.sent import Sent
from app.visits.explained import Explanation, explained
from app.visits.supposing import supposed


def read(id: int) -> Response:
    asked = Sent(read_query())
    link = get_owned(caller(), Link, id)
    return envelope.answer({"data": described(explained(desk(), link, supposed(asked)))})


def described(explanation: Explanation) -> dict[str, Any]:
    outcome = explanation.outcome
    return {
        "outcome": outcome.outcome,
        "status": outcome.status,
        "location": outcome.location,
        "steps": [step._asdict() for step in outcome.steps],
        "visitor": visitor(explanation),
    }


def visitor(explanation: Explanation) -> dict[str, Any]:
    """As everything was understood; null is unknown, or was not supposed."""
    found, said = explanation.visitor, explanation.visitor.supposed
    return {
        "at": written(explanation.at),
        "ip": said.ip or None,
        "country_code": found.country_code or None,
        "continent_code": found.continent_code or None,
        "city_name": found.city_name or None,
        "user_agent": said.user_agent,
        "is_bot": found.is_bot,
        "device_type": found.device_type or None,
        "os_name": found.os_name or None,
        "browser_name": found.browser_name or None,
        "accept_language": said.accept_language,
        "languages": list(found.languages),
        "query": said.query,
        "referrer": said.referrer,
        "unlocked": sorted(said.unlocked),
    }
