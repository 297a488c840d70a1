"""The confirmation page of limited links: what it shows, and when its form uses up a click."""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import time_machine
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session
from werkzeug.test import TestResponse

from app.accounts.passwords import hash_password
from app.journal.codec import Visit, decode
from app.links.models import Link
from app.notifications.models import Event
from app.redirects import signed_tokens
from app.redirects.context import RedirectContext
from app.redirects.models import LimitedVisit, RedeemedTicket
from app.redirects.signed_tokens import Confirmation, Passage
from app.redirects.wsgi import Front
from tests.clients import Api
from tests.public.conftest import THERE
from tests.public.test_interstitials import ANDROID, CLOAKED, FILM, META, ask, boxes, ticket
from tests.redirects.conftest import Person
from tests.redirects.test_gates import Guest

Links = Callable[..., Link]
Visits = Callable[[], list[Visit]]
HOUR = 3600


@pytest.fixture
def tap(link: Links) -> Links:
    """`tap("a", 3)`: a link to THERE that opens three times, each time after a tap."""

    def tap(url: str, limit: int = 1, pixels: list[tuple[str, str]] | None = None, **columns: Any) -> Link:
        return link(url, pixels, clicks_limit=limit, clicks_limit_confirmation_is_enabled=True, **columns)

    return tap


@pytest.fixture
def clicks(api: Api) -> Callable[[Link], int]:
    return lambda link: api.get(f"/links/{link.id}").json["data"]["clicks"]


@pytest.fixture
def limited(session: scoped_session[Session]) -> Visits:
    """The stored clicks of limited links."""

    def read() -> list[Visit]:
        lines = session.scalars(select(LimitedVisit.line).order_by(LimitedVisit.id)).all()
        found = [decode(bytes(line).strip(b"\n")) for line in lines]
        session.rollback()
        return [visit for visit in found if visit]

    return read


def send(person: Person, path: str, ticket: str | None, **more: Any) -> TestResponse:
    fields = {**({"ticket": ticket} if ticket is not None else {}), **more.pop("fields", {})}
    return person.open(path, method="POST", data=fields, **more)


def place(answer: TestResponse) -> tuple[int, str | None]:
    return answer.status_code, answer.headers.get("Location")


# --- the page


def test_the_page(person: Person, tap: Links, clicks: Any, limited: Visits) -> None:
    made = tap("a", title="Spring & more", notes="hush")
    for _ in range(5):
        page = person.open("/a?x=1")
        assert (page.status_code, page.mimetype) == (200, "text/html")
    assert "example.com" not in f"{page.headers}{page.text}"
    assert "hush" not in page.text
    assert "Spring &amp; more" in page.text
    assert re.findall(r"<button[^>]*>([^<]*)</button>", page.text) == ["Open link"]
    assert re.findall(r"<form ([^>]*)>", page.text) == ['method="post"'], (
        "to where it came from, its query too"
    )
    assert "Set-Cookie" not in page.headers
    assert (page.headers["Cache-Control"], page.headers["X-Robots-Tag"]) == ("no-store", "noindex")
    assert page.headers["Referrer-Policy"] == "no-referrer"
    policy = page.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "frame-ancestors 'none'" in policy
    assert "form-action" not in policy, "Chromium applies it to where the form's answer leads"
    assert (clicks(made), limited()) == (0, [])


def test_it_has_the_links_card_and_nothing_of_where_it_leads(person: Person, tap: Links) -> None:
    tap("a", cloaking_title="Mine", cloaking_meta_description="All of it")
    page = person.open("/a")
    assert '<meta property="og:title" content="Mine">' in page.text
    assert "example.com" not in page.text


@pytest.mark.parametrize("agent", ["curl/8", "facebookexternalhit/1.1", None])
def test_bots_and_head_get_what_they_get_on_any_limited_link(
    agent: str | None, person: Person, tap: Links, clicks: Any
) -> None:
    made = tap("a")
    for method in ("GET", "HEAD"):
        answer = person.open("/a", method=method, agent=agent)
        assert answer.status_code == 200
        assert "<form" not in answer.text
    assert person.open("/a", method="HEAD").status_code == 200
    good = ticket(person.open("/a"))
    assert THERE not in f"{(answer := send(person, '/a', good, agent=agent)).headers}{answer.text}"
    assert clicks(made) == 0
    assert place(send(person, "/a", good)) == (303, THERE)


def test_without_a_limit_nothing_is_asked(person: Person, link: Links, visits: Visits) -> None:
    link("a", clicks_limit_confirmation_is_enabled=True)
    assert place(person.open("/a")) == (302, THERE)
    assert person.open("/a", method="POST").status_code == 405
    assert len(visits()) == 1


# --- the form


@pytest.mark.databases
@pytest.mark.parametrize("status", [302, 308])
def test_a_tap_counts_and_goes_on(
    status: int, person: Person, tap: Links, clicks: Any, limited: Visits
) -> None:
    made = tap("a", 2, http_status_code=status, forward_query_parameters_is_enabled=True)
    page = person.open("/a?q=%zz", headers={"Referer": "https://news.example/story?who=me#x"})
    assert "who=me" not in page.text
    answer = send(person, "/a?q=%zz&utm_source=mail", ticket(page))
    assert place(answer) == (303, f"{THERE.partition('#')[0]}&q=%zz&utm_source=mail#b")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "Set-Cookie" not in answer.headers
    [visit] = limited()
    assert (visit.link_id, visit.destination, visit.utm_source) == (made.id, THERE, "mail")
    assert (visit.referrer_host, visit.referrer_path) == ("news.example", "/story")
    assert clicks(made) == 1


@pytest.mark.databases
def test_a_form_sent_again_asks_once_more_and_uses_up_nothing(
    person: Person, tap: Links, clicks: Any
) -> None:
    made = tap("a", 3)
    good = ticket(person.open("/a"))
    answers = [place(send(person, "/a?x=1", good)) for _ in range(5)]
    assert answers == [(303, THERE), *[(303, "/a?x=1")] * 4]
    assert clicks(made) == 1
    assert place(send(person, "/a", ticket(person.open("/a")))) == (303, THERE)
    assert clicks(made) == 2


def test_only_a_ticket_of_this_link_counts(
    person: Person, tap: Links, clicks: Any, session: scoped_session[Session]
) -> None:
    made, other = tap("a", 5), tap("b", 5)
    good = ticket(person.open("/b"))
    passage = signed_tokens.signed(Passage(made.id, made.password_version, THERE, signed_tokens.make_id()))
    for bad in (None, "", "x", "W10", good, good + "x", passage):
        assert place(send(person, "/a?x=1", bad)) == (303, "/a?x=1")
    assert (clicks(made), clicks(other)) == (0, 0)
    assert session.scalars(select(RedeemedTicket)).all() == []


def test_a_page_waits_in_a_tab_for_a_day(person: Person, tap: Links, clicks: Any) -> None:
    made = tap("a", 5)
    with time_machine.travel(1_800_000_000, tick=False) as moment:
        good = ticket(person.open("/a"))
        moment.shift(24 * HOUR)
        assert place(send(person, "/a", good)) == (303, THERE)
        good = ticket(person.open("/a"))
        moment.shift(24 * HOUR + 1)
        assert place(send(person, "/a", good)) == (303, "/a")
    assert clicks(made) == 1


@pytest.mark.parametrize("after", [None, "https://after.example/"])
def test_who_taps_too_late(
    after: str | None, person: Person, tap: Links, clicks: Any, session: scoped_session[Session]
) -> None:
    made = tap("a", 2, expiration_url=after)
    pages = [ticket(person.open("/a")) for _ in range(4)]
    answers = [place(send(person, "/a", one)) for one in pages]
    late = (302, after) if after else (410, None)
    assert answers == [(303, THERE), (303, THERE), late, late]
    assert place(person.open("/a")) == late
    assert clicks(made) == 2
    assert len(session.scalars(select(Event)).all()) == 1, "the owner is told once"


@pytest.mark.databases
def test_of_many_taps_at_once_as_many_as_the_limit(
    front: Front, tap: Links, clicks: Any, limited: Visits
) -> None:
    made = tap("a", 5)
    pages = [ticket(Person(front).open("/a")) for _ in range(10)]
    with ThreadPoolExecutor(10) as pool:
        answers = list(pool.map(lambda one: (one, place(send(Person(front), "/a", one))), pages * 3))
    led_on = [one for one, answer in answers if answer == (303, THERE)]
    assert len(led_on) == len(set(led_on)) == 5
    assert {answer for _, answer in answers} <= {(303, THERE), (303, "/a"), (410, None)}
    assert clicks(made) == len(limited()) == 5


def test_what_has_changed_meanwhile_holds(
    person: Person, tap: Links, change: Callable[..., None], redirect_context: RedirectContext, clicks: Any
) -> None:
    made = tap("a", 5)
    good = ticket(person.open("/a"))
    for columns, wanted in (
        ({"is_enabled": False}, (404, None)),
        ({"is_enabled": True, "location_url": "javascript:1"}, (404, None)),
        ({"location_url": "https://other.example/"}, (303, "https://other.example/")),
    ):
        change(made, **columns)
        redirect_context.compiled_links.poll()
        assert place(send(person, "/a", good)) == wanted
    assert clicks(made) == 1


# --- ways on


WAYS: dict[str, tuple[dict[str, Any], list[tuple[str, str]], str]] = {
    "a frame": (CLOAKED, [], 'class="whole"'),
    "an app": ({"app_linking_is_enabled": True, "location_url": FILM}, [], "Open YouTube"),
    "pixels": ({}, META, "You are being redirected"),
}


@pytest.mark.parametrize(("columns", "pixels", "mark"), WAYS.values(), ids=WAYS)
def test_a_page_on_the_way_is_the_answer_to_the_tap(
    columns: Any, pixels: Any, mark: str, person: Person, tap: Links, clicks: Any
) -> None:
    made = tap("a", 1, pixels, **columns)
    page = person.open("/a", agent=ANDROID)
    assert mark not in page.text
    assert "fbq" not in page.text
    answer = send(person, "/a", ticket(page), agent=ANDROID)
    assert answer.status_code == 200
    assert mark in answer.text
    assert columns.get("location_url", THERE) in html.unescape(answer.text).replace("\\u0026", "&")
    for box in boxes(answer):
        assert person.open(f"/a{box}", agent=ANDROID).status_code == 200
    assert clicks(made) == 1
    assert place(send(person, "/a", ticket(page), agent=ANDROID)) == (410, None)


GATES = {
    "a password": ({"password_hash": hash_password("secret"), "password_version": 1}, "secret"),
    "a warning": ({"sensitive_content": True}, None),
}


@pytest.mark.parametrize(("columns", "password"), GATES.values(), ids=GATES)
def test_a_gates_form_is_the_tap(
    columns: Any, password: str | None, front: Front, tap: Links, clicks: Any
) -> None:
    made = tap("a", 2, **columns)
    guest = Guest(front)
    page = guest.open("/a")
    assert 'name="ticket"' not in page.text
    assert guest.give("/a", password).status_code == 303
    assert clicks(made) == 0
    assert place(guest.open("/a")) == (302, THERE)
    assert clicks(made) == 1
    forged = signed_tokens.signed(Confirmation(made.id, signed_tokens.make_id(), ""))
    assert THERE not in str(place(send(Person(front), "/a", forged)))
    assert clicks(made) == 1


@ask
@pytest.mark.parametrize(("answer", "mark"), [("yes", "You are being redirected"), ("no", "")])
def test_the_question_about_pixels_is_the_tap(
    answer: str, mark: str, person: Person, tap: Links, clicks: Any
) -> None:
    made = tap("a", 2, META)
    for _ in range(3):
        asked = person.open("/a")
    assert "Meta (Facebook)" in asked.text
    assert asked.text.count("<button") == 2
    assert clicks(made) == 0
    fields = {"consent": answer}
    gone_on = send(person, "/a", ticket(asked), fields=fields)
    assert clicks(made) == 1
    if mark:
        assert mark in gone_on.text
    else:
        assert place(gone_on) == (303, THERE)
    assert place(send(person, "/a", ticket(asked), fields=fields)) == (303, "/a")
    assert clicks(made) == 1
