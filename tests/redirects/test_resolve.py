"""The rule engine: a table of links and moments with their outcomes, each row with a name."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pytest

from app.redirects.compiled_link import CompiledLink, compile_link
from app.redirects.resolve import STEPS, resolve
from app.redirects.state import CONFIRMATION, PASSWORD, WARNING, LinkState
from app.redirects.visitor import Visitor
from tests.server import BROWSER

NOW = dt.datetime(2027, 3, 28, 1, 0, 0, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)
THERE = "https://example.com/there"
AFTER = "https://example.com/after"

PLAIN: dict[str, Any] = {
    "id": 1, "workspace_id": 2, "domain_id": 0, "url": "a", "location_url": THERE, "is_enabled": True,
    "start_date": None, "end_date": None, "clicks_limit": None, "expiration_url": None, "password_hash": None,
    "password_version": 0,
    "sensitive_content": False, "http_status_code": 302, "app_linking_is_enabled": False,
    "cloaking_is_enabled": False, "forward_query_parameters_is_enabled": False, "utm_source": None,
    "utm_medium": None, "utm_campaign": None, "targeting_type": None, "targeting": [], "has_pixels": False,
}  # fmt: skip

OPENS = {
    "plain": ({}, THERE),
    "starts this very second": ({"start_date": NOW}, THERE),
    "started": ({"start_date": NOW - SECOND}, THERE),
    "ends in a second": ({"end_date": NOW + SECOND}, THERE),
    "between": ({"start_date": NOW - SECOND, "end_date": NOW + SECOND}, THERE),
    "utm": ({"utm_source": "mail"}, THERE + "?utm_source=mail"),
    "query forwarded": ({"forward_query_parameters_is_enabled": True}, THERE + "?q=1&utm_medium=x"),
    "both": (
        {"forward_query_parameters_is_enabled": True, "utm_medium": "mail"},
        THERE + "?utm_medium=mail&q=1",
    ),
    "non-ASCII": ({"location_url": "https://bücher.example/ä"}, "https://xn--bcher-kva.example/%C3%A4"),
}
ENDS: dict[str, tuple[dict[str, Any], str, int, str | None]] = {
    "disabled": ({"is_enabled": False}, "not_found", 404, None),
    "disabled comes before the schedule": (
        {"is_enabled": False, "end_date": NOW, "expiration_url": AFTER}, "not_found", 404, None),
    "not yet": ({"start_date": NOW + SECOND}, "not_yet", 404, None),
    "not yet comes before protection": ({"start_date": NOW + SECOND, "password_hash": "x"}, "not_yet", 404, None),
    "ended this very second": ({"end_date": NOW}, "expired", 410, None),
    "ended, with another address": ({"end_date": NOW, "expiration_url": AFTER}, "expired", 302, AFTER),
    "that one gets no parameters": (
        {"end_date": NOW, "expiration_url": AFTER, "utm_source": "a", "forward_query_parameters_is_enabled": True},
        "expired", 302, AFTER),
    "that one is planted": ({"end_date": NOW, "expiration_url": "javascript:alert(1)"}, "expired", 410, None),
    "ended comes before protection": ({"end_date": NOW, "password_hash": "x"}, "expired", 410, None),
    "destination is planted": ({"location_url": "javascript:alert(1)"}, "not_found", 404, None),
    "destination of another scheme": ({"location_url": "ftp://example.com/"}, "not_found", 404, None),
}  # fmt: skip


def plan(**columns: Any) -> CompiledLink:
    return compile_link({**PLAIN, **columns}, frozenset({"http", "https"}))


@pytest.mark.parametrize(("columns", "location"), OPENS.values(), ids=OPENS)
def test_it_opens(columns: dict[str, Any], location: str) -> None:
    outcome = resolve(plan(**columns), Visitor({"QUERY_STRING": "q=1&utm_medium=x"}), NOW)
    assert (outcome.outcome, outcome.status, outcome.location) == ("redirect", 302, location)
    assert outcome.counts
    assert [step.step for step in outcome.steps] == [name for name, _ in STEPS]


@pytest.mark.parametrize(("columns", "name", "status", "location"), ENDS.values(), ids=ENDS)
def test_it_ends_before(columns: dict[str, Any], name: str, status: int, location: str | None) -> None:
    outcome = resolve(plan(**columns), Visitor({}), NOW)
    assert (outcome.outcome, outcome.status, outcome.location) == (name, status, location)
    assert not outcome.counts
    assert outcome.steps[-1].matched


def test_no_link() -> None:
    assert resolve(None, Visitor({}), NOW).outcome == "not_found"


@pytest.mark.parametrize("status", [301, 302, 307, 308])
def test_the_owners_status(status: int) -> None:
    assert resolve(plan(http_status_code=status), Visitor({}), NOW).status == status


def test_the_destination_for_statistics_has_no_parameters() -> None:
    outcome = resolve(plan(utm_source="mail"), Visitor({}), NOW)
    assert outcome.destination == THERE


@pytest.mark.parametrize("columns", [columns for columns, _ in OPENS.values()], ids=list(OPENS))
def test_a_plain_plan_holds_what_resolve_answers(columns: dict[str, Any]) -> None:
    made = plan(**columns)
    outcome = resolve(made, Visitor({}), NOW)
    if made.is_plain:
        assert outcome.location
        assert dict(made.start["headers"])[b"Location"] == outcome.location.encode()


NOT_PLAIN: list[dict[str, Any]] = [
    {"is_enabled": False}, {"start_date": NOW}, {"end_date": NOW}, {"clicks_limit": 1}, {"password_hash": "x"},
    {"sensitive_content": True}, {"app_linking_is_enabled": True}, {"cloaking_is_enabled": True},
    {"forward_query_parameters_is_enabled": True}, {"targeting_type": "rotation"}, {"has_pixels": True},
    {"location_url": "javascript:alert(1)"},
]  # fmt: skip


TAP = {"clicks_limit": 5, "clicks_limit_confirmation_is_enabled": True}
DESTINED = {"targeting_type": "rotation", "targeting": [["1", AFTER]]}
BOT = {"HTTP_USER_AGENT": "Googlebot/2.1"}
ALL = frozenset({PASSWORD, WARNING, CONFIRMATION})
CONFIRMATIONS: dict[str, tuple[dict[str, Any], LinkState, dict[str, str], str, bool]] = {
    "asked": (TAP, LinkState(0), {}, "confirmation", False),
    "tapped": (TAP, LinkState(0, ALL), {}, "redirect", True),
    "without a limit": ({**TAP, "clicks_limit": None}, LinkState(), {}, "redirect", True),
    "used up": (TAP, LinkState(5, ALL), {}, "limit", False),
    "nobody knows": (TAP, LinkState(None, ALL), {}, "unavailable", False),
    "a bot": (TAP, LinkState(0, ALL), BOT, "preview", True),
    "HEAD": (TAP, LinkState(0, ALL), {"REQUEST_METHOD": "HEAD"}, "preview", True),
    "a password before it": ({**TAP, "password_hash": "x"}, LinkState(0, frozenset({CONFIRMATION})), {}, "password", False),
    "past the password": ({**TAP, "password_hash": "x"}, LinkState(0, frozenset({PASSWORD})), {}, "redirect", True),
    "past the warning": ({**TAP, "sensitive_content": True}, LinkState(0, frozenset({WARNING})), {}, "redirect", True),
    "a frame": ({**TAP, "cloaking_is_enabled": True}, LinkState(0), {}, "confirmation", False),
    "a frame, tapped": ({**TAP, "cloaking_is_enabled": True}, LinkState(0, ALL), {}, "cloak", True),
    "targeted": ({**TAP, **DESTINED}, LinkState(0), {}, "confirmation", False),
    "pixels": ({**TAP, "has_pixels": True}, LinkState(0), {}, "confirmation", False),
    "pixels, tapped": ({**TAP, "has_pixels": True}, LinkState(0, ALL), {}, "pixels", True),
    "asks about pixels": ({**TAP, "has_pixels": True, "asks_consent": True}, LinkState(0), {}, "consent", False),
    "refuses them anyway": (
        {**TAP, "has_pixels": True, "asks_consent": True}, LinkState(0), {"HTTP_DNT": "1"}, "confirmation", False),
    "agrees": ({**TAP, "has_pixels": True, "asks_consent": True}, LinkState(0, ALL, True), {}, "pixels", True),
    "does not": ({**TAP, "has_pixels": True, "asks_consent": True}, LinkState(0, ALL, False), {}, "redirect", True),
    "asks about pixels, without a tap": (
        {"clicks_limit": 5, "has_pixels": True, "asks_consent": True}, LinkState(0), {}, "consent", True),
}  # fmt: skip


@pytest.mark.parametrize(
    ("columns", "facts", "environ", "name", "counts"), CONFIRMATIONS.values(), ids=CONFIRMATIONS
)
def test_a_tap(
    columns: dict[str, Any], facts: LinkState, environ: dict[str, str], name: str, counts: bool
) -> None:
    asks = columns.get("asks_consent", False)
    columns = {name: value for name, value in columns.items() if name != "asks_consent"}
    made = compile_link({**PLAIN, **columns}, frozenset({"http", "https"}), asks_consent=asks)
    outcome = resolve(made, Visitor({"HTTP_USER_AGENT": BROWSER, **environ}), NOW, facts)
    assert (outcome.outcome, outcome.counts) == (name, counts)
    if name == "confirmation":
        assert outcome.location is None
        assert outcome.destination == ""


@pytest.mark.parametrize("columns", NOT_PLAIN, ids=lambda columns: next(iter(columns)))
def test_anything_more_is_not_plain(columns: dict[str, Any]) -> None:
    assert plan().is_plain
    made = plan(**columns)
    assert not made.is_plain
    assert not made.start
