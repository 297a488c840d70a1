"""Sample visitors of a link that is being edited, and where each ends up."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from app.core import clock
from app.dashboard.links.verdicts import verdict_on
from app.i18n import percent
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.links import targeting
from app.redirects.compiled_link import CompiledLink, compile_link
from app.redirects.outcomes import Outcome
from app.redirects.request_context import redirect_context
from app.redirects.resolve import resolve
from app.redirects.simulation.visitor import SimulatedVisitor, VisitorProfile
from app.redirects.state import CONFIRMATION, PASSWORD, WARNING, LinkState

PASSED = frozenset({PASSWORD, WARNING, CONFIRMATION})
MAX_VISITORS = 3


def sample_profile(country: str, device: str, system: str, browser: str, languages: str) -> VisitorProfile:
    return VisitorProfile(
        country_code=country,
        device_type=device,
        os_name=system,
        browser_name=browser,
        accept_language=languages,
    )


USUAL = (
    ("smartphone", _l("Germany, iPhone"), sample_profile("DE", "mobile", "iOS", "Safari", "de")),
    (
        "monitor",
        _l("United States, Windows"),
        sample_profile("US", "desktop", "Windows", "Chrome", "en-US,en"),
    ),
    (
        "smartphone",
        _l("Brazil, Android phone"),
        sample_profile("BR", "mobile", "Android", "Chrome", "pt-BR,pt"),
    ),
)
ELSE = ("user-round", _l("All other visitors"), VisitorProfile())


class Sample(NamedTuple):
    """A sample visitor, and where they end up: an address, or words for what they get instead."""

    icon: str
    who: str
    location: str | None
    words: str


def at(
    compiled_link: CompiledLink, profile: VisitorProfile, clicks: int, passed: frozenset[str] = PASSED
) -> Outcome:
    """What this visitor would get now, after the interstitials in `passed`."""
    visitor = SimulatedVisitor(profile, redirect_context().geolocation.find, redirect_context().today.current)
    return resolve(compiled_link, visitor, clock.now(), LinkState(clicks, passed))


def samples(columns: Mapping[str, Any], compiled_link: CompiledLink, clicks: int) -> Iterator[Sample]:
    type_ = targeting.TYPES.get(columns["targeting_type"])
    if type_ and not type_.matcher:
        yield from shares(columns, clicks)
        return
    for icon, who, profile in who_comes(columns):
        yield sample(icon, who, at(compiled_link, profile, clicks))


def sample(icon: str, who: str, outcome: Outcome) -> Sample:
    return Sample(icon, who, outcome.location, verdict_on(outcome, is_bot=False).title)


def shares(columns: Mapping[str, Any], clicks: int) -> Iterator[Sample]:
    """Samples of a rotation: each destination with its share of the visitors, which is its weight."""
    pairs = columns["targeting"]
    total = sum(int(weight) for weight, _ in pairs)
    for pair in pairs[:MAX_VISITORS]:
        compiled_link = compile_link(
            {**columns, "targeting": [pair]}, redirect_context().settings.destination_schemes
        )
        yield sample(
            "split",
            _("%(share)s of visitors", share=percent(100 * int(pair[0]) / total)),
            at(compiled_link, VisitorProfile(), clicks),
        )


def who_comes(columns: Mapping[str, Any]) -> tuple[tuple[str, str, VisitorProfile], ...]:
    """A visitor for each of the first targeting lines, and any other; without targeting, three usual ones."""
    type_ = columns["targeting_type"]
    if not type_:
        return USUAL
    keys = list(dict.fromkeys(key for key, _ in columns["targeting"]))[: MAX_VISITORS - 1]
    one = targeting.TYPES[type_]
    return (*(("user-round", one.describe(key), VisitorProfile(**one.simulate(key))) for key in keys), ELSE)
