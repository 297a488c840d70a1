"""Sample visitors of a link that is being edited, and where each ends up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from app.core import clock
from app.dashboard.links.verdicts import verdict_on
from app.links import targeting
from app.redirects.compiled_link import CompiledLink, compiled
from app.redirects.outcomes import Outcome
from app.redirects.request_context import redirect_context
from app.redirects.resolve import resolve
from app.redirects.simulation.visitor import Supposed, SupposedVisitor
from app.redirects.state import CONFIRMATION, PASSWORD, WARNING, LinkState

PASSED = frozenset({PASSWORD, WARNING, CONFIRMATION})
MAX_VISITORS = 3


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
    """A sample visitor, and where they end up: an address, or words for what they get instead."""

    icon: str
    who: str
    location: str | None
    words: str


def at(
    compiled_link: CompiledLink, supposed: Supposed, clicks: int, passed: frozenset[str] = PASSED
) -> Outcome:
    """What this visitor would get now, after the interstitials in `passed`."""
    visitor = SupposedVisitor(supposed, redirect_context().places.find, redirect_context().today.current)
    return resolve(compiled_link, visitor, clock.now(), LinkState(clicks, passed))


def samples(columns: Mapping[str, Any], compiled_link: CompiledLink, clicks: int) -> Iterator[Sample]:
    type_ = targeting.TYPES.get(columns["targeting_type"])
    if type_ and not type_.matcher:
        yield from shares(columns, clicks)
        return
    for icon, who, supposed in who_comes(columns):
        yield sample(icon, who, at(compiled_link, supposed, clicks))


def sample(icon: str, who: str, outcome: Outcome) -> Sample:
    return Sample(icon, who, outcome.location, verdict_on(outcome, is_bot=False).title)


def shares(columns: Mapping[str, Any], clicks: int) -> Iterator[Sample]:
    """Samples of a rotation: each destination with its share of the visitors, which is its weight."""
    pairs = columns["targeting"]
    total = sum(int(weight) for weight, _ in pairs)
    for pair in pairs[:MAX_VISITORS]:
        compiled_link = compiled(
            {**columns, "targeting": [pair]}, redirect_context().settings.destination_schemes
        )
        yield sample(
            "split", f"{100 * int(pair[0]) / total:.0f} % of visitors", at(compiled_link, Supposed(), clicks)
        )


def who_comes(columns: Mapping[str, Any]) -> tuple[tuple[str, str, Supposed], ...]:
    """A visitor for each of the first targeting lines, and any other; without targeting, three usual ones."""
    type_ = columns["targeting_type"]
    if not type_:
        return USUAL
    keys = list(dict.fromkeys(key for key, _ in columns["targeting"]))[: MAX_VISITORS - 1]
    one = targeting.TYPES[type_]
    return (*(("user-round", one.describe(key), Supposed(**one.simulate(key))) for key in keys), ELSE)
