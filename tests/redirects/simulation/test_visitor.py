"""The simulated visitor and its parameters: like a real one with the same texts, except for given parts."""

from __future__ import annotations

from typing import Any

import pytest

from app.core.errors import Invalid
from app.geo.lookup import UNKNOWN, Location
from app.input.data import RequestData
from app.redirects.simulation.params import read_profile
from app.redirects.simulation.visitor import SimulatedVisitor, VisitorProfile
from app.redirects.visitor import Visitor
from tests.redirects.conftest import PHONE
from tests.server import BROWSER

LONDON = Location("EU", "GB", "London")
BOT = "Googlebot/2.1 (+http://www.google.com/bot.html)"

PARTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "nobody in particular": (
        {},
        {"is_bot": False, "location": UNKNOWN, "device": ("", "", ""), "languages": (), "query": ""},
    ),
    "an agent tells its device": (
        {"user_agent": PHONE},
        {"is_bot": False, "device": ("mobile", "iOS", "Safari")},
    ),
    "a device goes before the agent's": (
        {"user_agent": PHONE, "device_type": "tablet", "browser_name": "Firefox"},
        {"device": ("tablet", "iOS", "Firefox")},
    ),
    "a device alone makes no bot": (
        {"device_type": "mobile", "os_name": "Android"},
        {"is_bot": False, "device": ("mobile", "Android", "")},
    ),
    "a system by another of its names": ({"os_name": "Ubuntu"}, {"os_name": "Linux"}),
    "a browser by its form": ({"browser_name": "Chrome Mobile"}, {"browser_name": "Chrome"}),
    "a bot": ({"user_agent": BOT}, {"is_bot": True}),
    "an empty agent is a bot": ({"user_agent": ""}, {"is_bot": True, "bot_name": "no agent"}),
    "an address has a place": ({"ip": "81.2.69.142"}, {"location": LONDON}),
    "an address without one": ({"ip": "192.0.2.1"}, {"location": UNKNOWN}),
    "a country has a continent": ({"country_code": "BR"}, {"location": ("SA", "BR", "")}),
    "the same country keeps the town": (
        {"ip": "81.2.69.142", "country_code": "GB"},
        {"location": LONDON},
    ),
    "another country drops the town": (
        {"ip": "81.2.69.142", "country_code": "FR"},
        {"location": ("EU", "FR", "")},
    ),
    "a town goes before the address's": (
        {"ip": "81.2.69.142", "city_name": "Leeds"},
        {"location": ("EU", "GB", "Leeds")},
    ),
    "an empty country is an unknown place": (
        {"ip": "81.2.69.142", "country_code": ""},
        {"location": UNKNOWN},
    ),
    "a continent alone": ({"continent_code": "AN"}, {"location": ("AN", "", "")}),
    "languages by q": ({"accept_language": "en;q=0.1, pt-BR"}, {"languages": ("pt-BR", "en")}),
    "a query's bytes": ({"query": "a=ä&b=%2B"}, {"query": "a=Ã¤&b=%2B"}),
    "a referrer": ({"referrer": "https://a.example/b?c"}, {"referrer": ("a.example", "/b")}),
}


def place_of(address: str) -> Location:
    return LONDON if address == "81.2.69.142" else UNKNOWN


@pytest.mark.parametrize(("parts", "expected"), PARTS.values(), ids=PARTS)
def test_it_is_what_the_profile_says(parts: dict[str, Any], expected: dict[str, Any]) -> None:
    visitor = SimulatedVisitor(VisitorProfile(**parts), place_of)
    assert {name: getattr(visitor, name) for name in expected} == expected


@pytest.mark.parametrize("agent", [BROWSER, PHONE, BOT, "", "Bücher/1.0"])
def test_a_real_one_with_the_same_texts_is_the_same(agent: str) -> None:
    real = Visitor(
        {
            "REQUEST_METHOD": "GET",
            "REMOTE_ADDR": "81.2.69.142",
            "HTTP_USER_AGENT": agent.encode().decode("latin-1"),
            "HTTP_ACCEPT_LANGUAGE": "de;q=0.5,en",
            "QUERY_STRING": "a=1",
        },
        locate=place_of,
        day_key=lambda: b"key",
    )
    parts = VisitorProfile(ip="81.2.69.142", user_agent=agent, accept_language="de;q=0.5,en", query="a=1")
    made = SimulatedVisitor(parts, place_of, lambda: b"key")
    names = ["agent", "bot_name", "device", "location", "languages", "query", "is_head", "is_prefetch"]
    assert [getattr(made, name) for name in names] == [getattr(real, name) for name in names]
    assert made.day_hash(7) == real.day_hash(7)


WRONG = {
    "at": ["", "tomorrow", "2026-02-30", "1700000000"],
    "ip": ["localhost", "1.2.3", "1.2.3.4/8", " 1.2.3.4", "[::1]"],
    "country_code": ["XX", "Germany", "D"],
    "continent_code": ["Europe", "DE"],
    "city_name": ["a\nb", "x" * 129],
    "user_agent": ["a\tb", "x" * 4097],
    "device_type": ["phone", "0"],
    "os_name": ["x" * 129],
    "browser_name": ["a\x00b"],
    "accept_language": ["de_DE", "de;q=2", "en;;", "*;q=0", "ä"],
    "query": ["a b", "a#b", "x" * 8193],
    "referrer": ["example.com", "javascript:alert(1)", "https://"],
    "unlocked": ["door", "PASSWORD", "password,door", "2"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in WRONG.items() for text in texts])
def test_what_can_t_be_read_is_refused(name: str, text: str) -> None:
    with pytest.raises(Invalid) as caught:
        read_profile(RequestData([(name, text)]))
    assert [error.field for error in caught.value.errors] == [name]


def test_everything_that_is_wrong_is_told_at_once() -> None:
    with pytest.raises(Invalid) as caught:
        read_profile(RequestData([(name, texts[-1]) for name, texts in WRONG.items()]))
    assert {error.field for error in caught.value.errors} == set(WRONG)


UNLOCKED = {
    "nothing": ([], set()),
    "empty": ([("unlocked", "")], set()),
    "one": ([("unlocked", "password")], {"password"}),
    "both, by commas": ([("unlocked", "password,warning")], {"password", "warning"}),
    "both, one by one": ([("unlocked", "password"), ("unlocked", "warning")], {"password", "warning"}),
    "both, as an array": ([("unlocked[]", "warning"), ("unlocked[]", "password")], {"password", "warning"}),
    "the tap": ([("unlocked", "confirmation")], {"confirmation"}),
    "yes": ([("unlocked", "1")], {"password", "warning", "confirmation"}),
    "no": ([("unlocked", "false")], set()),
}


@pytest.mark.parametrize(("pairs", "gates"), UNLOCKED.values(), ids=UNLOCKED)
def test_which_gates_are_passed(pairs: list[tuple[str, str]], gates: set[str]) -> None:
    assert read_profile(RequestData(pairs)).unlocked == gates


def test_the_last_of_several_wins_and_unknown_ones_are_ignored() -> None:
    found = read_profile(
        RequestData([("ip", "no"), ("ip", "192.0.2.1"), ("name", "x"), ("country_code", "de")])
    )
    assert found == VisitorProfile(ip="192.0.2.1", country_code="DE")
