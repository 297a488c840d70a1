"""Order of the steps: of all that keeps a visitor from the destination, the first in the contract answers."""

from __future__ import annotations

import datetime as dt
from itertools import combinations
from typing import Any

import pytest

from app.redirects.resolve import resolve
from app.redirects.state import PASSWORD, WARNING, LinkState
from app.redirects.visitor import Visitor
from tests.redirects.test_resolve import AFTER, NOW, SECOND, THERE, plan
from tests.server import BROWSER

LIMIT = 5
# in the order in which they answer: columns; outcome; status; status with an `expiration_url`
HINDRANCES: dict[str, tuple[dict[str, Any], str, int, int]] = {
    "disabled": ({"is_enabled": False}, "not_found", 404, 404),
    "not yet": ({"start_date": NOW + SECOND}, "not_yet", 404, 404),
    "ended": ({"end_date": NOW}, "expired", 410, 302),
    "used up": ({"clicks_limit": LIMIT}, "limit", 410, 302),
    "password": ({"password_hash": "x"}, "password", 200, 200),
    "warning": ({"sensitive_content": True}, "warning", 200, 200),
}
COMBINATIONS = [names for count in range(1, len(HINDRANCES) + 1) for names in combinations(HINDRANCES, count)]
PERSON, BOT = {"HTTP_USER_AGENT": BROWSER}, {"HTTP_USER_AGENT": "facebookexternalhit/1.1"}


@pytest.mark.parametrize("names", COMBINATIONS, ids=" + ".join)
@pytest.mark.parametrize("expiration_url", [None, AFTER])
@pytest.mark.parametrize(
    "environ", [PERSON, BOT, PERSON | {"REQUEST_METHOD": "HEAD"}], ids=["person", "bot", "HEAD"]
)
def test_the_first_answers(
    names: tuple[str, ...], expiration_url: str | None, environ: dict[str, str]
) -> None:
    columns = {name: value for each in names for name, value in HINDRANCES[each][0].items()}
    made = plan(**columns, expiration_url=expiration_url, utm_source="mail")
    outcome = resolve(made, Visitor(environ), NOW, LinkState(clicks=LIMIT))
    _, name, status, with_address = HINDRANCES[names[0]]
    assert outcome.outcome == name
    assert outcome.status == (with_address if expiration_url else status)
    assert outcome.location == (AFTER if outcome.status == 302 else None)
    assert outcome.destination == ""
    assert not outcome.counts


BOTH = frozenset({PASSWORD, WARNING})
ALL = {"password_hash": "x", "sensitive_content": True, "clicks_limit": LIMIT}
UNLOCKED: dict[str, tuple[LinkState, dict[str, str], str]] = {
    "nothing": (LinkState(0), PERSON, "password"),
    "the warning alone": (LinkState(0, frozenset({WARNING})), PERSON, "password"),
    "the password alone": (LinkState(0, frozenset({PASSWORD})), PERSON, "warning"),
    "both": (LinkState(0, BOTH), PERSON, "redirect"),
    "both, and the last click": (LinkState(LIMIT - 1, BOTH), PERSON, "redirect"),
    "both, and no click is left": (LinkState(LIMIT, BOTH), PERSON, "limit"),
    "both, and nobody knows the clicks": (LinkState(None, BOTH), PERSON, "unavailable"),
    "both, a bot": (LinkState(0, BOTH), BOT, "password"),
    "both, HEAD": (LinkState(0, BOTH), PERSON | {"REQUEST_METHOD": "HEAD"}, "preview"),
}


@pytest.mark.parametrize(("facts", "environ", "name"), UNLOCKED.values(), ids=UNLOCKED)
def test_what_is_unlocked(facts: LinkState, environ: dict[str, str], name: str) -> None:
    outcome = resolve(plan(**ALL), Visitor(environ), NOW, facts)
    assert outcome.outcome == name
    assert (outcome.location == THERE) is (name == "redirect")


def test_all_on_one_link() -> None:
    """A password, a limit, a bot, cloaking and targeting: a bot learns none of the destinations."""
    targeting = {"targeting_type": "country_code", "targeting": [["DE", "https://de.example/"]]}
    made = plan(**ALL, **targeting, cloaking_is_enabled=True, expiration_url=AFTER)
    for facts in (LinkState(0), LinkState(0, BOTH)):
        for environ in (BOT, BOT | {"REQUEST_METHOD": "HEAD"}):
            outcome = resolve(made, Visitor(environ), NOW, facts)
            assert (outcome.outcome, outcome.location, outcome.destination) == ("password", None, "")
    outcome = resolve(made, Visitor(PERSON), NOW, LinkState(0, BOTH))
    assert (outcome.outcome, outcome.location) == ("cloak", THERE)
    assert resolve(made, Visitor(PERSON), NOW, LinkState(LIMIT, BOTH)).location == AFTER
    ended = resolve(
        plan(**ALL, end_date=NOW - dt.timedelta(days=1)), Visitor(PERSON), NOW, LinkState(0, BOTH)
    )
    assert ended.outcome == "expired"
