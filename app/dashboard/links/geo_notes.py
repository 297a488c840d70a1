"""What should an owner know who tells visitors apart by place?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app import own_addresses
from app.public.here import desk

BY_PLACE = ("continent_code", "country_code", "city_name")
NEVER_FIT = "so these lines never fit, and everybody goes to the destination."
UNKNOWN = f"This Waypost does not know where visitors are, {NEVER_FIT}"
DAMAGED = f"This Waypost's place database is damaged, {NEVER_FIT}"
NO_CITIES = f"This Waypost knows of visitors' countries, but not of their cities, {NEVER_FIT}"
WHAT_TO_DO = "Its operator can fetch a free place database with “flask geo update”."


def place_notes() -> dict[str, Any]:
    """A note for each type of targeting that can't work here, and whom to thank for places."""
    status = desk().places.status
    return {
        "place_notes": {} if status.state == "ok" else notes(is_damaged=status.state == "damaged"),
        "attribution": status.attribution if status.state == "ok" else None,
        "by_place": BY_PLACE,
    }


def notes(*, is_damaged: bool) -> Mapping[str, str]:
    if own_addresses.settings().geo_country_header:
        return {"city_name": f"{NO_CITIES} {WHAT_TO_DO}"}
    return dict.fromkeys(BY_PLACE, f"{DAMAGED if is_damaged else UNKNOWN} {WHAT_TO_DO}")
