"""Notes in the link form on targeting by geolocation that can't work here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.i18n.messages import lazy_gettext as _l
from app.links import targeting
from app.redirects.request_context import redirect_context
from app.web import urls

BY_PLACE = tuple(name for name, one in targeting.TYPES.items() if one.is_by_place)
UNKNOWN = _l(
    "This Waypost does not know where visitors are, so these lines never fit, and everybody goes to "
    "the destination."
)
DAMAGED = _l(
    "This Waypost's place database is damaged, so these lines never fit, and everybody goes to the "
    "destination."
)
NO_CITIES = _l(
    "This Waypost knows of visitors' countries, but not of their cities, so these lines never fit, "
    "and everybody goes to the destination."
)
WHAT_TO_DO = _l("Its operator can fetch a free place database with “flask geo update”.")


def place_notes() -> dict[str, Any]:
    """A note for each type of targeting that can't work here, and the attribution of the database."""
    status = redirect_context().geolocation.status
    return {
        "place_notes": {} if status.state == "ok" else notes(is_damaged=status.state == "damaged"),
        "attribution": status.attribution if status.state == "ok" else None,
    }


def notes(*, is_damaged: bool) -> Mapping[str, str]:
    if urls.settings().geo_country_header:
        return {"city_name": f"{NO_CITIES} {WHAT_TO_DO}"}
    return dict.fromkeys(BY_PLACE, f"{DAMAGED if is_damaged else UNKNOWN} {WHAT_TO_DO}")
