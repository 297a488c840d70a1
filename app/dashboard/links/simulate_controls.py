"""Controls of the page "Try as visitor"."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.core.errors import FieldError
from app.dashboard.auth.access import signed_in_user
from app.dashboard.shared.crud_views import Context
from app.geo.names import CONTINENT_NAMES, COUNTRY_NAMES
from app.links import targeting
from app.links.language_names import LANGUAGES
from app.links.models import Link
from app.redirects.request_context import redirect_context

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
