"""The front answers every redirect itself that needs no page and no look-up, and hands on all else."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any, NoReturn

import pytest

from app.accounts.models import User
from app.core.clock import now
from app.journal.codec import Visit
from app.redirects.context import RedirectContext
from app.redirects.wsgi import Front
from tests.factories import Factory
from tests.redirects.conftest import PHONE, Person

Visits = Callable[[], list[Visit]]
THERE, OTHER = "https://example.com/there", "https://example.com/other"
HOUR = dt.timedelta(hours=1)


class HandedOn(Exception):
    """The application behind the front was called."""


def behind(_environ: Any, _start_response: Any) -> NoReturn:
    raise HandedOn


@pytest.fixture
def alone(redirect_context: RedirectContext) -> Person:
    """A visitor of a front with no application behind it."""
    return Person(Front(behind, redirect_context))


def by_device(**more: str) -> dict[str, Any]:
    return {"targeting_type": "device_type", "targeting": [[key, value] for key, value in more.items()]}


# columns, request, destination
ANSWERED: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "targeting that fits": (by_device(mobile=OTHER), {"agent": PHONE}, OTHER),
    "targeting that does not": (by_device(tablet=OTHER), {"agent": PHONE}, THERE),
    "rotation": ({"targeting_type": "rotation", "targeting": [["1", OTHER]]}, {}, OTHER),
    "query forwarded": (
        {"forward_query_parameters_is_enabled": True}, {"query_string": "a[]=%zz"}, f"{THERE}?a[]=%zz"),
    "utm and targeting": (
        {"utm_source": "mail", **by_device(mobile=OTHER)}, {"agent": PHONE}, f"{OTHER}?utm_source=mail"),
    "started": ({"start_date": now() - HOUR}, {}, THERE),
    "not ended": ({"end_date": now() + HOUR}, {}, THERE),
    "an app, but no phone": ({"app_linking_is_enabled": True, "location_url": "https://youtu.be/x"}, {}, "https://youtu.be/x"),
    "a bot": (by_device(desktop=OTHER), {"agent": "curl/8"}, OTHER),
}  # fmt: skip


@pytest.mark.parametrize(("columns", "asked", "location"), ANSWERED.values(), ids=ANSWERED)
def test_it_answers(
    columns: dict[str, Any],
    asked: dict[str, Any],
    location: str,
    alone: Person,
    factory: Factory,
    owner: User,
    visits: Visits,
) -> None:
    factory.link(owner, "a", **{"location_url": THERE, "http_status_code": 307, **columns})
    answer = alone.open("/a", **asked)
    assert (answer.status_code, answer.headers["Location"], answer.data) == (307, location, b"")
    assert (answer.headers["Cache-Control"], answer.headers["X-Robots-Tag"]) == ("no-store", "noindex")
    [visit] = visits()
    assert visit.destination == location.partition("?")[0]
    head = alone.open("/a", method="HEAD", **asked)
    assert (head.status_code, head.headers["Location"]) == (307, location)
    assert len(visits()) == 1


HANDED_ON: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "disabled": ({"is_enabled": False}, {}),
    "not yet": ({"start_date": now() + HOUR}, {}),
    "ended": ({"end_date": now() - HOUR, "expiration_url": OTHER}, {}),
    "limited": ({"clicks_limit": 1}, {}),
    "protected": ({"password_hash": "x"}, {}),
    "sensitive": ({"sensitive_content": True}, {}),
    "cloaked": ({"cloaking_is_enabled": True}, {}),
    "protected and targeted": ({"password_hash": "x", **by_device(mobile=OTHER)}, {"agent": PHONE}),
    "in an app": ({"app_linking_is_enabled": True, "location_url": "https://youtu.be/abc"}, {"agent": PHONE}),
    "a pair's destination is planted": (by_device(mobile="javascript:alert(1)"), {"agent": PHONE}),
    "another method": (by_device(mobile=OTHER), {"agent": PHONE, "method": "POST"}),
    "before the visit": (by_device(mobile=OTHER), {"agent": PHONE, "headers": {"Sec-Purpose": "prefetch"}}),
}


@pytest.mark.parametrize(("columns", "asked"), HANDED_ON.values(), ids=HANDED_ON)
def test_it_hands_on(
    columns: dict[str, Any],
    asked: dict[str, Any],
    alone: Person,
    person: Person,
    factory: Factory,
    owner: User,
    visits: Visits,
) -> None:
    factory.link(owner, "a", **{"location_url": THERE, **columns})
    with pytest.raises(HandedOn):
        alone.open("/a", **asked)
    assert visits() == []
    answer = person.open("/a", **asked)
    assert answer.status_code < 500 or answer.status_code == 503
    assert "javascript" not in answer.headers.get("Location", "")


def test_a_page_and_the_front_answer_alike(
    alone: Person, app: Any, redirect_context: RedirectContext, factory: Factory, owner: User, visits: Visits
) -> None:
    factory.link(owner, "a", location_url=THERE, utm_source="x", **by_device(mobile=OTHER))
    page = Person(app.wsgi_app)
    for agent in (PHONE, "curl/8", None):
        one, other = (somebody.open("/a", agent=agent) for somebody in (alone, page))
        assert one.status_code == other.status_code == 302
        assert one.headers["Location"] == other.headers["Location"]
    first, second = ([visit._replace(time_ms=0) for visit in visits()][start::2] for start in (0, 1))
    assert first == second
