"""Passwords and warnings: shown as the contract says, and unlocked only by the right form or cookie."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any
from urllib.parse import quote

import pytest
import time_machine
from sqlalchemy.orm import Session, scoped_session
from werkzeug.test import TestResponse

from app.accounts.hashing import RETRY_SECONDS, HashPriority
from app.accounts.models import User
from app.accounts.passwords import hash_password
from app.journal.codec import Visit
from app.redirects.context import RedirectContext
from app.redirects.wsgi import Front
from tests.accounts.places import fill
from tests.factories import Factory
from tests.keys import secret_keys
from tests.redirects.conftest import Person

Visits = Callable[[], list[Visit]]
THERE = "https://example.com/there"
PASSWORD = "open sesame"
CURL = "curl/8.5.0"


@pytest.fixture(scope="module")
def password_hash() -> str:
    return hash_password(PASSWORD)


@pytest.fixture
def protected(factory: Factory, owner: User, password_hash: str) -> Callable[..., Any]:
    """`protected("a")`: a link behind PASSWORD."""

    def make(url: str, **columns: Any) -> Any:
        given = {"location_url": THERE, "password_hash": password_hash, "password_version": 1, **columns}
        return factory.link(owner, url, **given)

    return make


class Guest(Person):
    """A visitor who keeps cookies as a browser does: by name and path, sent if the path matches."""

    def __init__(self, front: Front) -> None:
        super().__init__(front)
        self.cookies: dict[tuple[str, str], str] = {}

    def open(self, path: str, **more: Any) -> TestResponse:
        headers = dict(more.pop("headers", {}))
        raw = quote(path.partition("?")[0], safe="/~%")
        fitting = [
            f"{name}={value}"
            for (name, at), value in self.cookies.items()
            if raw == at or raw.startswith(f"{at}/")
        ]
        if fitting:
            headers["Cookie"] = "; ".join(fitting)
        answer = super().open(path, headers=headers, **more)
        for line in answer.headers.getlist("Set-Cookie"):
            (name, value), attributes = read_cookie(line)
            self.cookies[name, attributes["Path"]] = value
        return answer

    def give(self, path: str, password: str | None = PASSWORD, **more: Any) -> TestResponse:
        return self.open(path, method="POST", data={} if password is None else {"password": password}, **more)


def read_cookie(line: str) -> tuple[tuple[str, str], dict[str, str]]:
    first, *rest = line.split("; ")
    name, _, value = first.partition("=")
    return (name, value), {key: value for key, _, value in (part.partition("=") for part in rest)}


@pytest.fixture
def guest(front: Front) -> Guest:
    return Guest(front)


def tells_nothing(answer: TestResponse) -> bool:
    everything = f"{answer.headers} {answer.text}"
    return "example.com" not in everything and answer.headers["Cache-Control"] == "no-store"


# ---------------------------------------------------------------------- password


def test_the_password_page(guest: Guest, protected: Any, visits: Visits) -> None:
    protected("a")
    answer = guest.open("/a")
    assert (answer.status_code, answer.mimetype) == (200, "text/html")
    assert tells_nothing(answer)
    assert re.search(
        r'<label for="password">.*<input id="password" name="password" type="password"',
        answer.text,
        re.DOTALL,
    )
    assert "autofocus" in answer.text
    assert "form-action" not in answer.headers["Content-Security-Policy"]
    assert "X-Robots-Tag" in answer.headers
    assert visits() == []


@pytest.mark.databases
def test_right_then_there(guest: Guest, protected: Any, visits: Visits) -> None:
    """303 back to the link with its query, and a cookie. The visit counts when the destination is sent."""
    link = protected("a", forward_query_parameters_is_enabled=True)
    query = "q=%zz&b=a+b&c=%C3%A4&empty="
    answer = guest.give(f"/a?{query}")
    assert (answer.status_code, answer.headers["Location"]) == (303, f"/a?{query}")
    assert tells_nothing(answer)
    assert visits() == []
    answer = guest.open(f"/a?{query}")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{THERE}?{query}")
    assert [visit.link_id for visit in visits()] == [link.id]
    assert guest.open("/a", method="HEAD").status_code == 302
    assert len(visits()) == 1


def test_the_cookie(guest: Guest, protected: Any, session: scoped_session[Session]) -> None:
    protected("a")
    [line] = guest.give("/a").headers.getlist("Set-Cookie")
    _, attributes = read_cookie(line)
    assert attributes.keys() == {"Expires", "Max-Age", "HttpOnly", "Path", "SameSite"}
    assert (attributes["Max-Age"], attributes["Path"], attributes["SameSite"]) == ("3600", "/a", "Lax")
    [line] = guest.give("/a", base_url="https://localhost").headers.getlist("Set-Cookie")
    assert "Secure" in read_cookie(line)[1]


@pytest.mark.settings(TRUSTED_PROXIES="1")
def test_the_cookie_behind_a_proxy_that_speaks_https(guest: Guest, protected: Any) -> None:
    protected("a")
    [line] = guest.give("/a", headers={"X-Forwarded-Proto": "https"}).headers.getlist("Set-Cookie")
    assert "; Secure" in line


WRONG = {
    "wrong": "nope",
    "empty": "",
    "in another case": PASSWORD.upper(),
    "with a blank": f"{PASSWORD} ",
    "none": None,
}
WRONG |= {"very long": PASSWORD * 1000, "NUL": "\x00"}


@pytest.mark.parametrize("password", WRONG.values(), ids=WRONG)
def test_wrong(password: str | None, guest: Guest, protected: Any) -> None:
    protected("a")
    answer = guest.give("/a", password)
    assert answer.status_code == (400 if password == "\x00" else 403)
    assert tells_nothing(answer)
    assert "Set-Cookie" not in answer.headers
    if answer.status_code == 403:
        assert 'aria-describedby="problem"' in answer.text
        assert 'role="alert"' in answer.text


def test_the_same_letters_typed_on_another_keyboard(guest: Guest, protected: Any) -> None:
    protected("a", password_hash=hash_password("caf\u00e9"))
    assert guest.give("/a", "cafe\u0301").status_code == 303


@pytest.mark.parametrize(
    "columns", [{}, {"password_hash": None, "sensitive_content": True}], ids=["password", "warning"]
)
def test_a_form_takes_64_kib(guest: Guest, protected: Any, columns: dict[str, Any]) -> None:
    protected("a", **columns)
    form = {"method": "POST", "content_type": "application/x-www-form-urlencoded"}
    body = f"password={PASSWORD}&x=".ljust(64 * 1024, "x")
    answer = guest.open("/a", data=f"{body}x", **form)
    assert answer.status_code == 413
    assert tells_nothing(answer)
    assert "Set-Cookie" not in answer.headers
    assert guest.open("/a", data="a&" * 1001, **form).status_code == 413
    body = body if not columns else body.replace("password", "passwore")
    assert guest.open("/a", data=body, **form).status_code == 303


def test_ten_tries_then_not_even_the_right_one(guest: Guest, protected: Any, front: Front) -> None:
    protected("a"), protected("b")
    for _ in range(10):
        assert guest.give("/a", "nope").status_code == 403
    answer = guest.give("/a")
    assert answer.status_code == 429
    assert 1 <= int(answer.headers["Retry-After"]) <= 600
    assert tells_nothing(answer)
    assert "Set-Cookie" not in answer.headers
    assert guest.give("/b").status_code == 303, "another link"
    elsewhere = {"environ_base": {"REMOTE_ADDR": "203.0.113.9"}}
    assert Guest(front).give("/a", **elsewhere).status_code == 303, "another address"


def test_a_forged_forwarded_for_is_no_other_address(guest: Guest, protected: Any) -> None:
    protected("a")
    for number in range(10):
        assert guest.give("/a", "nope", headers={"X-Forwarded-For": f"203.0.113.{number}"}).status_code == 403
    assert guest.give("/a", headers={"X-Forwarded-For": "203.0.113.99"}).status_code == 429


def test_where_all_places_for_hashes_are_taken_nobody_waits(guest: Guest, protected: Any) -> None:
    protected("a")
    with ExitStack() as taken:
        fill(taken, HashPriority.VISITORS)
        answer = guest.give("/a")
        assert (answer.status_code, answer.headers["Retry-After"]) == (503, str(RETRY_SECONDS))
        assert tells_nothing(answer)
        assert guest.open("/a").status_code == 200
    assert guest.give("/a").status_code == 303


def test_a_cookie_opens_nothing_else(guest: Guest, protected: Any, front: Front) -> None:
    """Even if a visitor sends it to a path to which no browser would."""
    protected("a"), protected("b"), protected("c", sensitive_content=True)
    guest.give("/a")
    [((name, _), value)] = guest.cookies.items()
    for path in ("/b", "/c"):
        answer = Person(front).open(path, headers={"Cookie": f"{name}={value}"})
        assert answer.status_code == 200
        assert tells_nothing(answer)
    as_warning = {"Cookie": f"waypost_warning={value}"}
    protected("d", password_hash=None, sensitive_content=True)
    assert tells_nothing(Person(front).open("/d", headers=as_warning))


FORGED = ["", "x", "WyJwYXNzd29yZCIsMSwxXQ.aaaa.bbbb", "\xff", "a" * 5000]


@pytest.mark.parametrize("value", FORGED, ids=lambda value: value[:5])
def test_a_forged_cookie(value: str, person: Person, protected: Any) -> None:
    protected("a")
    answer = person.open("/a", headers={"Cookie": f"waypost_password={value}"})
    assert answer.status_code == 200
    assert tells_nothing(answer)


def test_a_cookie_lasts_one_hour(guest: Guest, protected: Any) -> None:
    protected("a")
    with time_machine.travel(1_800_000_000, tick=False) as moment:
        guest.give("/a")
        moment.shift(3600)
        assert guest.open("/a").status_code == 302
        moment.shift(1)
        assert guest.open("/a").status_code == 200


def test_a_new_password_closes_what_the_old_one_opened(
    guest: Guest, api: Any, protected: Any, front: Front
) -> None:
    link = protected("a", sensitive_content=True)
    guest.give("/a"), guest.give("/a", None)
    assert guest.open("/a").status_code == 302
    assert api.post(f"/links/{link.id}", {"title": "the same password"}).status_code == 200
    front.compiled_links.poll()
    assert guest.open("/a").status_code == 302
    assert api.post(f"/links/{link.id}", {"password": "something new"}).status_code == 200
    front.compiled_links.poll()
    answer = guest.open("/a")
    assert (answer.status_code, 'name="password"' in answer.text) == (200, True)
    assert tells_nothing(answer)
    assert guest.give("/a").status_code == 403
    assert guest.give("/a", "something new").status_code == 303
    assert tells_nothing(guest.open("/a")), "and the warning comes again"


SPELLINGS = {
    "case": ("Abc", "/ABC", "/Abc"),
    "trailing slash": ("abc", "/abc/", "/abc"),
    "another script": ("ссылка", "/ССЫЛКА", quote("/ссылка")),
    "NFD": ("é", "/e\u0301", "/%C3%A9"),
    "emoji": ("👩‍🚀x", "/👩‍🚀X", quote("/👩‍🚀x")),
    "as typed in NFD": ("e\u0301", "/é", "/e%CC%81"),
    "tilde": ("a~b", "/A~B", "/a~b"),
}


@pytest.mark.parametrize(("alias", "other", "own"), SPELLINGS.values(), ids=SPELLINGS)
def test_another_spelling_is_first_redirected_to_the_links_own(
    alias: str, other: str, own: str, guest: Guest, protected: Any
) -> None:
    protected(alias)
    answer = guest.open(f"{other}?a=%41&b")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{own}?a=%41&b")
    assert tells_nothing(answer)
    assert guest.open(own).status_code == 200
    answer = guest.give(own)
    assert (answer.status_code, answer.headers["Location"]) == (303, own)
    assert [path for _, path in guest.cookies] == [own]
    assert guest.open(own).headers["Location"] == THERE


# ----------------------------------------------------------------------- warning


def test_the_warning(guest: Guest, factory: Factory, owner: User, visits: Visits) -> None:
    factory.link(owner, "a", location_url=THERE, sensitive_content=True)
    answer = guest.open("/a?q=1")
    assert (answer.status_code, "<form" in answer.text, 'name="password"' in answer.text) == (
        200,
        True,
        False,
    )
    assert tells_nothing(answer)
    answer = guest.give("/a?q=1", None)
    assert (answer.status_code, answer.headers["Location"]) == (303, "/a?q=1")
    assert visits() == []
    assert guest.open("/a?q=1").headers["Location"] == THERE
    assert guest.give("/a", None).status_code == 303, "sent twice"
    assert len(visits()) == 1


def test_a_password_and_a_warning(guest: Guest, protected: Any) -> None:
    protected("a", sensitive_content=True)
    assert 'name="password"' in guest.open("/a").text
    assert guest.give("/a", None).status_code == 403, "continue is no password"
    assert guest.give("/a").status_code == 303
    answer = guest.open("/a")
    assert 'name="password"' not in answer.text
    assert tells_nothing(answer)
    assert guest.give("/a", None).status_code == 303
    assert guest.open("/a").headers["Location"] == THERE


# ---------------------------------------------------------------- bots and methods


@pytest.mark.parametrize("gate", ["password", "warning"])
@pytest.mark.parametrize("agent", [CURL, "facebookexternalhit/1.1", None])
def test_no_bot_learns_a_destination_behind_a_gate(
    agent: str | None, gate: str, guest: Guest, protected: Any, visits: Visits
) -> None:
    """Not even with the right password."""
    protected("a", **({} if gate == "password" else {"password_hash": None, "sensitive_content": True}))
    guest.give("/a", PASSWORD if gate == "password" else None, agent=agent)
    for method in ("GET", "HEAD"):
        answer = guest.open("/a", method=method, agent=agent)
        assert answer.status_code == 200
        assert tells_nothing(answer)
    assert visits() == []


CLOSED: dict[str, tuple[dict[str, Any], int]] = {
    "disabled": ({"is_enabled": False}, 404),
    "not yet": ({"start_date": "2999"}, 404),
    "ended": ({"end_date": "2001"}, 410),
    "ended, with another address": ({"end_date": "2001", "expiration_url": "https://after.example/"}, 302),
}


@pytest.mark.parametrize(("columns", "status"), CLOSED.values(), ids=CLOSED)
def test_a_password_opens_nothing_that_is_closed(
    columns: dict[str, Any], status: int, guest: Guest, protected: Any
) -> None:
    import datetime as dt

    moments = {k: dt.datetime(int(v), 1, 1, tzinfo=dt.UTC) for k, v in columns.items() if k.endswith("_date")}
    protected("a", **{**columns, **moments})
    for answer in (guest.open("/a"), guest.give("/a")):
        assert answer.status_code == status
        assert tells_nothing(answer)
        assert "Set-Cookie" not in answer.headers


def test_a_cookie_of_another_instance(
    person: Person, protected: Any, redirect_context: RedirectContext
) -> None:
    from app.redirects.gate_cookies import Unlock

    link = protected("a")
    plan = redirect_context.compiled_links.find("localhost", "/a")
    assert plan is not None and plan.id == link.id
    with secret_keys("another secret"):
        forged = Unlock().token("password", plan)
    assert person.open("/a", headers={"Cookie": f"waypost_password={forged}"}).status_code == 200
    real = redirect_context.unlock.token("password", plan)
    assert person.open("/a", headers={"Cookie": f"waypost_password={real}"}).status_code == 302
