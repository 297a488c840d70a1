"""The front: plain links are answered as the contract says and counted once; all else is handed on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.domains.models import Domain
from app.journal.codec import Visit
from app.redirects.context import RedirectContext
from app.redirects.wsgi import Front
from tests.factories import Factory
from tests.redirects.conftest import Person

Visits = Callable[[], list[Visit]]
THERE = "https://example.com/there?a=%zz#b"


@pytest.mark.databases
def test_a_plain_redirect(person: Person, factory: Factory, owner: User, visits: Visits) -> None:
    link = factory.link(owner, "Abc", location_url=THERE)
    answer = person.open("/Abc?utm_source=mail", headers={"Referer": "https://news.example/a?b=c"})
    assert answer.status_code == 302
    assert answer.headers["Location"] == THERE
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Robots-Tag"] == "noindex"
    assert answer.data == b""
    [visit] = visits()
    assert (visit.link_id, visit.workspace_id, visit.is_bot) == (link.id, owner.id, 0)
    assert (visit.referrer_host, visit.referrer_path, visit.utm_source) == ("news.example", "/a", "mail")
    assert visit.destination == THERE


SPELLINGS = {
    "case": ("Grüße", "/GRÜSSE"),
    "trailing slash": ("abc", "/abc/"),
    "NFD": ("é", "/e\u0301"),
    "percent": ("a~b", "/a%7Eb"),
    "emoji": ("👩‍🚀", "/👩‍🚀"),
    "another script": ("ссылка", "/ССЫЛКА"),
}


NOWHERE = [
    "/",
    "/nope",
    "/abc/x",
    "/abc//",
    "//abc",
    "/a\r\nb",
    "/\x00",
    "/abc\x00",
    "/\xff\xfe",
    "/" + "x" * 2000,
]
NOWHERE += ["*", "/abc\n", "/ abc", "/.well-known/x", "/.well-knownx"]


@pytest.mark.parametrize("path", NOWHERE)
@pytest.mark.databases
def test_nothing_there(path: str, person: Person, factory: Factory, owner: User, visits: Visits) -> None:
    factory.link(owner, "abc")
    answer = person.raw(raw_environ(path))
    assert answer.status_code == (302 if path == "/" else 404)  # the root goes to the dashboard
    assert visits() == []


def raw_environ(path: str) -> dict[str, Any]:
    from werkzeug.test import EnvironBuilder

    environ = EnvironBuilder(path="/x", headers={"User-Agent": "Mozilla/5.0 Firefox/130.0"}).get_environ()
    environ["PATH_INFO"] = path
    return environ


def test_head_redirects_and_does_not_count(
    person: Person, factory: Factory, owner: User, visits: Visits
) -> None:
    factory.link(owner, "a")
    answer = person.open("/a", method="HEAD")
    assert (answer.status_code, answer.data) == (302, b"")
    assert visits() == []


@pytest.mark.parametrize("agent", ["curl/8.5.0", "Googlebot/2.1", "wrk", "", None])
def test_bots_get_there_and_are_recorded_as_bots(
    agent: str | None, person: Person, factory: Factory, owner: User, visits: Visits
) -> None:
    factory.link(owner, "a")
    assert person.open("/a", agent=agent).status_code == 302
    [visit] = visits()
    assert visit.is_bot == 1
    assert visit.bot_name


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND", "MADE-UP"])
def test_other_methods(method: str, person: Person, factory: Factory, owner: User, visits: Visits) -> None:
    factory.link(owner, "a")
    factory.link(owner, "a-cloaked-one", cloaking_is_enabled=True)
    for path in ("/a", "/a-cloaked-one"):
        answer = person.open(path, method=method)
        assert (answer.status_code, answer.headers["Allow"]) == (405, "GET, HEAD")
        assert answer.headers["Cache-Control"] == "no-store"
    for path in ("/nothing", "/a/b", "/a+"):
        assert person.open(path, method=method).status_code == 404
    factory.link(owner, "b", http_status_code=307)
    assert person.open("/b", method=method).status_code == 307
    assert visits() == []


def test_no_address_is_written_and_visitors_are_told_apart(
    person: Person, factory: Factory, owner: User, visits: Visits
) -> None:
    factory.link(owner, "a")
    for address in ("203.0.113.77", "203.0.113.77", "203.0.113.78"):
        person.open("/a", environ_base={"REMOTE_ADDR": address})
    one, again, other = (visit.visitor for visit in visits())
    assert one == again != other
    assert not any("203.0.113" in str(field) for visit in visits() for field in visit)


@pytest.mark.settings(TRUSTED_PROXIES="1")
def test_behind_a_proxy(person: Person, factory: Factory, owner: User, visits: Visits) -> None:
    factory.link(owner, "a")
    for chain in ("203.0.113.77", "198.51.100.1, 203.0.113.77", "203.0.113.78"):
        person.open("/a", headers={"X-Forwarded-For": chain})
    one, forged, other = (visit.visitor for visit in visits())
    assert one == forged != other


def test_while_it_ends_every_answer_closes_its_connection(
    front: Front, person: Person, factory: Factory, owner: User
) -> None:
    factory.link(owner, "a")
    assert "Connection" not in person.open("/a").headers
    front.is_draining = True
    for path in ("/a", "/nope", "/healthz"):
        assert person.open(path).headers["Connection"] == "close"
    assert "Connection" not in dict(front.compiled_links.spellings["localhost", "/a"].start["headers"])


@pytest.fixture
def domain(factory: Factory, owner: User) -> Domain:
    found: Domain = factory.add(
        Domain(
            **access_of(owner).row_columns,
            host="go.example",
            is_verified=True,
            token="x",
            custom_index_url="https://a.example/ä",
        )
    )
    return found


def test_a_domain_serves_its_links_and_nothing_else(
    person: Person, factory: Factory, owner: User, domain: Domain
) -> None:
    factory.link(owner, "theirs", domain_id=domain.id)
    factory.link(owner, "ours")
    for host in ("go.example", "GO.example:80", "go.example:8000", "go.example."):
        assert person.open("/theirs", host=host).status_code == 302
        assert person.open("/ours", host=host).status_code == 404
        for path in ("/dashboard/", "/api/links", "/login", "/setup", "/readyz", "/metrics"):
            assert person.open(path, host=host).status_code == 404
    assert person.open("/theirs").status_code == 404
    assert person.open("/ours").status_code == 302


def test_a_domains_own_index_and_not_found(
    person: Person, factory: Factory, owner: User, domain: Domain, redirect_context: RedirectContext
) -> None:
    factory.link(owner, "off", domain_id=domain.id, is_enabled=False)
    assert person.open("/", host="go.example").headers["Location"] == "https://a.example/%C3%A4"
    assert person.open("/nope", host="go.example").status_code == 404
    assert person.open("/off", host="go.example").status_code == 404
    domain.custom_index_url, domain.custom_not_found_url = None, "https://a.example/lost"
    announce(factory, domain)
    redirect_context.compiled_links.poll()
    assert person.open("/", host="go.example").status_code == 404
    for path in ("/nope", "/off", "/off+", "/off/x"):
        answer = person.open(path, host="go.example")
        assert (answer.status_code, answer.headers["Location"]) == (302, "https://a.example/lost")


def announce(factory: Factory, domain: Domain) -> None:
    from app.links.models import PlanChange

    factory.add(PlanChange(domain_id=domain.id))


@pytest.mark.parametrize("columns", [{"is_verified": False}, {"is_enabled": False}])
def test_a_domain_that_is_not_in_force_is_nobodys(
    columns: dict[str, bool],
    person: Person,
    factory: Factory,
    owner: User,
    domain: Domain,
    redirect_context: RedirectContext,
) -> None:
    factory.link(owner, "a", domain_id=domain.id)
    assert person.open("/a", host="go.example").status_code == 302
    for name, value in columns.items():
        setattr(domain, name, value)
    announce(factory, domain)
    redirect_context.compiled_links.poll()
    assert person.open("/a", host="go.example").status_code == 404


@pytest.mark.settings(DASHBOARD_URL="https://desk.example")
def test_the_dashboard_on_a_host_of_its_own(person: Person, factory: Factory, owner: User) -> None:
    factory.link(owner, "a")
    assert person.open("/a").status_code == 302
    assert person.open("/login").status_code == 404
    assert person.open("/api/links").status_code == 404
    assert person.open("/").headers["Location"] == "https://desk.example/dashboard/"
    assert person.open("/a", host="desk.example").status_code == 404
    assert person.open("/login", host="desk.example").status_code == 200
    assert person.open("/api/links", host="desk.example").status_code == 401


@pytest.mark.parametrize(("role", "link", "login"), [("visitors", 302, 404), ("owners", 404, 200)])
def test_roles(
    role: str,
    link: int,
    login: int,
    redirect_context: RedirectContext,
    app: Any,
    factory: Factory,
    owner: User,
) -> None:
    redirect_context.role = role
    person = Person(Front(app.wsgi_app, redirect_context))
    factory.link(owner, "a")
    assert person.open("/a").status_code == link
    assert person.open("/login").status_code == login
    assert person.open("/healthz").status_code == 200


@pytest.mark.settings(TRUSTED_HOSTS="go.example")
def test_a_host_that_is_not_trusted_redirects_nobody(person: Person, make_link: Any, alice: User) -> None:
    make_link(alice, "a")
    assert person.open("/a", host="go.example").status_code == 302
    assert person.open("/a", host="go.example:8000").status_code == 302
    for _ in range(2):  # from the database, and from memory
        assert person.open("/a", host="elsewhere.example").status_code == 400
