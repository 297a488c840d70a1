"""The simulated visitor, whose properties are given instead of sent."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from app.geo.lookup import UNKNOWN, Location, place_of_country
from app.redirects.user_agent import Device
from app.redirects.visitor import Visitor
from app.web.device_names import browser_name, system_name


@dataclass(frozen=True, kw_only=True)
class VisitorProfile:
    """The given properties, by the contract's names. None: not given; empty: the visitor has none."""

    at: dt.datetime | None = None
    ip: str | None = None
    country_code: str | None = None
    continent_code: str | None = None
    city_name: str | None = None
    user_agent: str | None = None
    device_type: str | None = None
    os_name: str | None = None
    browser_name: str | None = None
    accept_language: str | None = None
    query: str | None = None
    referrer: str | None = None
    unlocked: frozenset[str] = frozenset()


class SimulatedVisitor(Visitor):
    """Like a real visitor, parsed from the same texts; but a given property is not derived from them.

    Without a simulated user agent the visitor counts as human, device unknown.
    """

    __slots__ = ("profile",)

    def __init__(
        self,
        profile: VisitorProfile,
        locate: Callable[[str], Location] | None = None,
        day_key: Callable[[], bytes] | None = None,
    ) -> None:
        super().__init__(environ_of(profile), locate=locate, day_key=day_key)
        self.profile = profile

    @property
    def bot_name(self) -> str:
        return "" if self.profile.user_agent is None else super().bot_name

    @property
    def device(self) -> Device:
        said, found = self.profile, super().device
        return Device(
            given(said.device_type, found.device_type),
            found.os_name if said.os_name is None else system_name(said.os_name),
            found.browser_name if said.browser_name is None else browser_name(said.browser_name),
        )

    def look_up_location(self) -> Location:
        """The given parts; the rest from the given address, unless that contradicts the given country."""
        said = self.profile
        found = super().look_up_location() if said.ip else UNKNOWN
        if said.country_code is not None and said.country_code != found.country_code:
            found = place_of_country(said.country_code)
        return Location(
            given(said.continent_code, found.continent_code),
            found.country_code,
            given(said.city_name, found.city_name),
        )


def given(said: str | None, found: str) -> str:
    return found if said is None else said


def environ_of(profile: VisitorProfile) -> dict[str, Any]:
    """The WSGI environ of the request that such a visitor would send."""
    texts = {
        "REMOTE_ADDR": profile.ip,
        "HTTP_USER_AGENT": profile.user_agent,
        "HTTP_ACCEPT_LANGUAGE": profile.accept_language,
        "HTTP_REFERER": profile.referrer,
        "QUERY_STRING": profile.query,
    }
    return {"REQUEST_METHOD": "GET", **{name: as_sent(text) for name, text in texts.items() if text}}


def as_sent(text: str) -> str:
    """Each byte as one character, as servers pass headers on."""
    return text.encode().decode("latin-1")
