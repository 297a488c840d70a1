"""Targeting: which pair a visitor gets, in a table of all types; and the shares of rotation."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import pytest

from app.geo.lookup import Location
from app.redirects.resolve import resolve
from app.redirects.state import PASSWORD, WARNING, LinkState
from app.redirects.visitor import Visitor
from tests.redirects.test_resolve import NOW, THERE, plan
from tests.redirects.test_user_agent import AGENTS

BERLIN = Location("EU", "DE", "Berlin")


def at(place: Location) -> Visitor:
    return Visitor({"REMOTE_ADDR": "192.0.2.1"}, locate=lambda _address: place)


def speaks(header: str) -> Visitor:
    return Visitor({"HTTP_ACCEPT_LANGUAGE": header})


def uses(name: str) -> Visitor:
    return Visitor({"HTTP_USER_AGENT": AGENTS[name][0]})


# targeting_type, keys in the owner's order, visitor, index of the pair that they get; None: the link's own
ROWS: dict[str, tuple[str, list[str], Visitor, int | None]] = {
    "continent": ("continent_code", ["AF", "EU"], at(BERLIN), 1),
    "continent unknown": ("continent_code", ["EU"], at(Location()), None),
    "country": ("country_code", ["FR", "DE", "AT"], at(BERLIN), 1),
    "country without case": ("country_code", ["de"], at(BERLIN), 0),
    "country unknown": ("country_code", ["DE"], at(Location()), None),
    "the same key twice: the first": ("country_code", ["FR", "DE", "DE"], at(BERLIN), 1),
    "city": ("city_name", ["Paris", "Berlin"], at(BERLIN), 1),
    "city and country": ("city_name", ["Berlin, US", "berlin, de"], at(BERLIN), 1),
    "city, the general pair first": ("city_name", ["Berlin", "Berlin, DE"], at(BERLIN), 0),
    "city in another country": ("city_name", ["Berlin, US"], at(BERLIN), None),
    "city beyond ASCII": ("city_name", ["ZÜRICH"], at(Location("EU", "CH", "Zürich")), 0),
    "city in the other normal form": ("city_name", ["Zu\u0308rich"], at(Location("EU", "CH", "Zürich")), 0),
    "city with a comma": ("city_name", ["Washington, D.C."], at(Location("NA", "US", "Washington, D.C.")), 0),
    "city unknown": ("city_name", ["Berlin"], at(Location("EU", "DE")), None),
    "tablet: iPad": ("device_type", ["mobile", "tablet"], uses("Safari on a tablet"), 1),
    "tablet: Android without Mobile": ("device_type", ["mobile", "tablet"], uses("Chrome on a tablet"), 1),
    "no agent, no device": ("device_type", ["desktop"], Visitor({}), None),
    "system": ("os_name", ["Windows", "macOS"], uses("Safari on a Mac"), 1),
    "system without case": ("os_name", ["MACOS"], uses("Safari on a Mac"), 0),
    "system by its other name": ("os_name", ["Mac OS X"], uses("Safari on a Mac"), 0),
    "a Linux by its own name": ("os_name", ["Linux"], uses("Firefox on Ubuntu"), 0),
    "Android is no Linux": ("os_name", ["Linux"], uses("Chrome on a phone"), None),
    "browser": ("browser_name", ["Firefox", "Chrome"], uses("Chrome on Windows"), 1),
    "browser in a web view": ("browser_name", ["Safari"], uses("iOS's web view"), 0),
    "browser by its form's name": ("browser_name", ["Mobile Safari"], uses("Safari on a phone"), 0),
    "Edge is no Chrome": ("browser_name", ["Chrome", "Edge"], uses("Edge on Windows"), 1),
    "language": ("browser_language", ["fr", "de"], speaks("de"), 1),
    "language: a key also for its regions": ("browser_language", ["pt"], speaks("pt-BR"), 0),
    "language: a region's key not for others": ("browser_language", ["pt-BR"], speaks("pt"), None),
    "language: not by its letters": ("browser_language", ["de"], speaks("den"), None),
    "language without case": ("browser_language", ["PT-br"], speaks("pt-Br"), 0),
    "language by q, not by the list": ("browser_language", ["en", "de"], speaks("en;q=0.5, de;q=0.9"), 1),
    "language: the best liked that is there": ("browser_language", ["es", "en"], speaks("de, fr;q=0.8, en;q=0.1"), 1),
    "language: the list's order for one tag": ("browser_language", ["pt", "pt-BR"], speaks("pt-BR"), 0),
    "language: an equal q in the visitor's order": ("browser_language", ["en", "de"], speaks("de, en"), 1),
    "language with q=0": ("browser_language", ["de"], speaks("de;q=0, en"), None),
    "language: any": ("browser_language", ["de"], speaks("*"), None),
    "no language": ("browser_language", ["de"], Visitor({}), None),
    "rotation of one": ("rotation", ["1"], Visitor({}), 0),
}  # fmt: skip


def targeted(kind: str, keys: list[str], **columns: Any) -> Any:
    pairs = [[key, f"https://example.com/{index}"] for index, key in enumerate(keys)]
    return plan(targeting_type=kind, targeting=pairs, **columns)


@pytest.mark.parametrize(("kind", "keys", "visitor", "index"), ROWS.values(), ids=ROWS)
def test_pairs(kind: str, keys: list[str], visitor: Visitor, index: int | None) -> None:
    outcome = resolve(targeted(kind, keys), visitor, NOW)
    expected = THERE if index is None else f"https://example.com/{index}"
    assert (outcome.outcome, outcome.location, outcome.destination) == ("redirect", expected, expected)
    step = next(step for step in outcome.steps if step.step == "targeting_type")
    assert step.matched is (index is not None)
    assert step.detail.startswith(f"{kind}: ")


def test_why_a_pair_matched_or_not() -> None:
    def detail(kind: str, keys: list[str], visitor: Visitor) -> str:
        steps = resolve(targeted(kind, keys), visitor, NOW).steps
        return next(step.detail for step in steps if step.step == "targeting_type")

    assert detail("country_code", ["FR", "DE"], at(BERLIN)) == "country_code: de is pair 2: DE"
    assert detail("country_code", ["FR", "AT"], at(BERLIN)) == "country_code: de is none of: FR; AT"
    assert detail("country_code", ["FR"], at(Location())) == "country_code: unknown"
    assert detail("browser_language", list("abcdefgh"), speaks("pt-BR, en")).endswith(
        "pt-br; en is none of: a; b; c; d; e; f; …"
    )


def test_what_the_link_adds_is_added_to_a_pairs_destination_too() -> None:
    made = plan(
        targeting_type="country_code",
        targeting=[["DE", "https://example.com/de?a=1#x"]],
        utm_source="mail",
        forward_query_parameters_is_enabled=True,
    )
    visitor = Visitor({"QUERY_STRING": "a=2&b=3"}, locate=lambda _address: BERLIN)
    outcome = resolve(made, visitor, NOW)
    assert outcome.location == "https://example.com/de?a=1&utm_source=mail&b=3#x"
    assert outcome.destination == "https://example.com/de?a=1#x"


@pytest.mark.parametrize("planted", ["javascript:alert(1)", "//example.com", "data:text/html,x", ""])
def test_a_pairs_planted_destination_is_refused(planted: str) -> None:
    made = plan(targeting_type="country_code", targeting=[["DE", planted]])
    outcome = resolve(made, at(BERLIN), NOW)
    assert (outcome.outcome, outcome.status, outcome.location) == ("not_found", 404, None)
    assert resolve(made, at(Location()), NOW).location == THERE


DELIVERED: dict[str, tuple[dict[str, Any], str]] = {
    "cloaked": ({"cloaking_is_enabled": True}, "cloak"),
    "past pixels": ({"has_pixels": True}, "pixels"),
    "cloaked, past pixels": ({"cloaking_is_enabled": True, "has_pixels": True}, "cloak"),
    "behind a password": ({"password_hash": "x"}, "redirect"),
    "behind a password, a limit and a frame": (
        {"password_hash": "x", "sensitive_content": True, "clicks_limit": 3, "cloaking_is_enabled": True}, "cloak"),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "name"), DELIVERED.values(), ids=DELIVERED)
def test_targeting_holds_however_the_destination_is_delivered(columns: dict[str, Any], name: str) -> None:
    made = targeted("os_name", ["macOS", "iOS"], **columns)
    facts = LinkState(clicks=0, unlocked=frozenset({PASSWORD, WARNING}))
    outcome = resolve(made, uses("Safari on a phone"), NOW, facts)
    assert (outcome.outcome, outcome.location) == (name, "https://example.com/1")
    assert outcome.destination == "https://example.com/1"


def visitors(count: int, day: bytes = b"one day") -> list[Visitor]:
    return [
        Visitor({"REMOTE_ADDR": f"2001:db8::{number:x}", "HTTP_USER_AGENT": "x"}, day_key=lambda: day)
        for number in range(count)
    ]


def drawn(made: Any, visitor: Visitor) -> str:
    return str(resolve(made, visitor, NOW).location)


def test_10_000_visits_by_weight_within_two_points() -> None:
    made = targeted("rotation", ["50", "30", "20"])
    shares = Counter(drawn(made, visitor)[-1] for visitor in visitors(10_000))
    assert [shares[index] for index in "012"] == pytest.approx([5000, 3000, 2000], abs=200)


def test_the_same_visitor_gets_the_same_all_day() -> None:
    made = targeted("rotation", ["1"] * 100)
    first, again = ([drawn(made, visitor) for visitor in visitors(50)] for _ in range(2))
    assert first == again


def test_the_choice_does_not_depend_on_the_process() -> None:
    """Python's own hash of a string differs between processes; this one must not."""
    made = targeted("rotation", ["1"] * 100)
    chosen = "\n".join(drawn(made, visitor) for visitor in visitors(100))
    assert hashlib.sha256(chosen.encode()).hexdigest().startswith("8b37a50e46587a00")
