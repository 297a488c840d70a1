"""Who may come along a link that is being typed, and where does each end up?"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

from app import clock
from app.dashboard.verdicts import verdict_on
from app.dashboard.wordings import language
from app.links import targeting
from app.places import CONTINENTS, COUNTRIES
from app.public.here import desk
from app.visits.facts import PASSWORD, WARNING, Facts
from app.visits.outcomes import Outcome
from app.visits.plan import Plan, compiled
from app.visits.resolve import resolve
from app.visits.supposed import Supposed, SupposedVisitor

PASSED = frozenset({PASSWORD, WARNING})
MOST = 3


def supposed(country: str, device: str, system: str, browser: str, languages: str) -> Supposed:
    return Supposed(
        country_code=country,
        device_type=device,
        os_name=system,
        browser_name=browser,
        accept_language=languages,
    )


USUAL = (
    ("smartphone", "Germany, iPhone", supposed("DE", "mobile", "iOS", "Safari", "de")),
    ("monitor", "United States, Windows", supposed("US", "desktop", "Windows", "Chrome", "en-US,en")),
    ("smartphone", "Brazil, Android phone", supposed("BR", "mobile", "Android", "Chrome", "pt-BR,pt")),
)
ELSE = ("user-round", "Anybody else", Supposed())


class Sample(NamedTuple):
    """Somebody, and where he ends up: an address, or in words what he meets instead."""

    icon: str
    who: str
    location: str | None
    words: str


def at(plan: Plan, supposed: Supposed, clicks: int, passed: frozenset[str] = PASSED) -> Outcome:
    """What this visitor would get now, once past every gate."""
    visitor = SupposedVisitor(supposed, desk().places.find, desk().today.current)
    return resolve(plan, visitor, clock.now(), Facts(clicks, passed))


def samples(columns: Mapping[str, Any], plan: Plan, clicks: int) -> Iterator[Sample]:
    if columns["targeting_type"] == "rotation":
        yield from shares(columns, clicks)
        return
    for icon, who, supposed in who_comes(columns):
        yield sample(icon, who, at(plan, supposed, clicks))


def sample(icon: str, who: str, outcome: Outcome) -> Sample:
    return Sample(icon, who, outcome.location, verdict_on(outcome, is_bot=False).title)


def shares(columns: Mapping[str, Any], clicks: int) -> Iterator[Sample]:
    """Nobody is told apart: each line's visitors are as many as its weight."""
    pairs = columns["targeting"]
    total = sum(int(weight) for weight, _ in pairs)
    for pair in pairs[:MOST]:
        plan = compiled({**columns, "targeting": [pair]}, desk().settings.destination_schemes)
        yield sample("split", f"{100 * int(pair[0]) / total:.0f} % of visitors", at(plan, Supposed(), clicks))


def who_comes(columns: Mapping[str, Any]) -> tuple[tuple[str, str, Supposed], ...]:
    """Somebody of each of the first lines, and somebody else; without lines, three that often come."""
    type_ = columns["targeting_type"]
    if not type_:
        return USUAL
    keys = list(dict.fromkeys(key for key, _ in columns["targeting"]))[: MOST - 1]
    return (*(("user-round", named(type_, key), like(type_, key)) for key in keys), ELSE)


def like(type_: str, key: str) -> Supposed:
    if type_ == "browser_language":
        return Supposed(accept_language=key)
    if type_ == "city_name":
        town, _, code = key.rpartition(", ")
        return Supposed(city_name=town, country_code=code) if town else Supposed(city_name=key)
    return replace(Supposed(), **{type_: key})  # type: ignore[arg-type]  # each such part is a text


def named(type_: str, key: str) -> str:
    if type_ == "browser_language":
        return language(key)
    words: Mapping[str, Mapping[str, str]] = {
        "country_code": COUNTRIES,
        "continent_code": CONTINENTS,
        "device_type": targeting.DEVICES,
    }
    return words.get(type_, {}).get(key, key)
