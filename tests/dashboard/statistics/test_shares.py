"""Share addresses: their form and list, what their pages show and hide, and when these end."""

from __future__ import annotations

import datetime as dt
import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask.testing import FlaskClient
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.deletion import leaving
from app.accounts.models import User
from app.accounts.passwords import hash_password
from app.analytics.sharing import services
from app.analytics.sharing.models import StatisticsShare
from app.audit.models import AuditEntry
from app.core import clock
from app.core.config import Settings
from app.dashboard.statistics import shared
from app.links.models import Link
from app.rate_limit.limiter import at_most
from tests.dashboard.conftest import HTMX, Desk
from tests.dashboard.statistics.test_pages import rows, text_of
from tests.factories import Factory
from tests.past import Past, take_in
from tests.writes import write

FORM = {"name": "For the team", "parts": ["country_code", "referrer_host"], "period": "30d", "least": "5"}
NOBODYS = "A" * 43
DAY = dt.timedelta(days=1)


def count(session: scoped_session[Session]) -> int:
    session.rollback()
    return session.scalar(select(func.count()).select_from(StatisticsShare)) or 0


def token_of(share: StatisticsShare) -> str:
    return str(share.sealed_token["token"])


def page_of(client: FlaskClient, token: str, more: str = "") -> Any:
    return client.get(f"/dashboard/shared/{token}{more}")


@pytest.fixture
def stranger(app: Flask) -> FlaskClient:
    """A browser without an account."""
    return app.test_client()


def test_it_is_created_and_opened_without_an_account(
    desk: Desk, past: Past, stranger: FlaskClient, session: scoped_session[Session]
) -> None:
    assert "Create share address" in desk.get(f"/links/{past.first.id}/statistics/").text
    form = desk.get(f"/shares/new?link_id={past.first.id}").text
    assert 'value="localhost/first"' in form
    answer = desk.post("/shares/new", {**FORM, "link_id": past.first.id}, headers=HTMX)
    assert answer.status_code == 200
    assert "shares-changed" in answer.headers["HX-Trigger"]
    share = session.scalars(select(StatisticsShare)).one()
    address = f"http://localhost/dashboard/shared/{token_of(share)}"
    assert address in answer.text
    assert (share.link_id, share.least, share.is_embeddable) == (past.first.id, 5, False)
    shown = stranger.get(address.removeprefix("http://localhost"))
    assert shown.status_code == 200
    assert "For the team" in shown.text
    assert "Set-Cookie" not in shown.headers
    assert shown.headers["Cache-Control"] == "no-store"
    assert shown.headers["X-Robots-Tag"] == "noindex"
    assert shown.headers["Referrer-Policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in shown.headers["Content-Security-Policy"]
    assert address in desk.get(f"/shares/{share.id}").text  # it can be copied again
    assert services.digest(token_of(share)) == share.digest


SCOPES: dict[str, Callable[[Past], dict[str, Any]]] = {
    "a link": lambda past: {"link_id": past.first.id},
    "a project": lambda past: {"project_id": past.project.id},
    "all links": lambda past: {},
}


@pytest.mark.parametrize("scope", SCOPES)
def test_figures_are_the_owners(
    desk: Desk, past: Past, stranger: FlaskClient, factory: Factory, scope: str
) -> None:
    of = SCOPES[scope](past)
    path = "/".join(f"{name.removesuffix('_id')}s/{id_}" for name, id_ in of.items())
    _, token = factory.share(past.owner, parts=["country_code", "city_name"], least=1, **of)
    shown = page_of(stranger, token).text
    base = f"/{path}/statistics" if path else "/statistics"
    own = desk.get(f"{base}/overview?compare=off", headers=HTMX).text
    assert rows(shown, "figures") == rows(own, "figures")
    countries = rows(desk.get(f"{base}/list/country_code", headers=HTMX).text, "top")
    assert [row[1:] for row in rows(shown, "top")] == [row[1:] for row in countries]
    assert "City" in shown


def test_nothing_else_is_shown(desk: Desk, past: Past, stranger: FlaskClient, session: Any) -> None:
    """No destination, alias, notes or e-mail address, and no dimension that was not chosen."""
    link = session.get_one(Link, past.first.id)
    link.notes, link.title = "secret-notes", "secret-title"
    session.commit()
    for of in ({}, {"link_id": past.first.id}, {"project_id": past.project.id}):
        desk.post("/shares/new", {**FORM, **of})
        share = session.scalars(select(StatisticsShare).order_by(StatisticsShare.id.desc())).first()
        text = page_of(stranger, token_of(share)).text
        for secret in (
            *("secret-notes", "secret-title", "example.com", "a.example", "b.example", "/first", "/second"),
            *("Spring", "alice", "csrf", "Berlin", "Chrome", "/dashboard/links", "htmx"),
        ):
            assert secret not in text.replace("/static/", ""), secret
        assert "Referrers" in text
        assert "Devices" not in text


def test_small_counts_are_merged(
    past: Past, stranger: FlaskClient, factory: Factory, settings: Settings
) -> None:
    """Rows with fewer visitors, however many clicks these made, are one row without a name."""
    visit = past.visits[0]._replace(is_bot=0, bot_name="", time_ms=int(clock.now().timestamp() * 1000))
    rare = [visit._replace(country_code="NO", visitor="one") for _ in range(9)]
    common = [visit._replace(country_code="FR", visitor=f"v{number}") for number in range(5)]
    take_in(settings, [*rare, *common])
    _, token = factory.share(past.owner, least=5)
    found = {row[0]: row for row in rows(page_of(stranger, token).text, "top")}
    assert "Norway" not in found
    assert found["France"][1:3] == ["5", "5"]
    assert found["Other"][1:3] == ["–", "9"]
    _, open_token = factory.share(past.owner, least=1)
    shown = {row[0]: row for row in rows(page_of(stranger, open_token).text, "top")}
    assert shown["Norway"][1:3] == ["1", "9"]
    assert "Other" not in shown


BAD: dict[str, tuple[dict[str, Any], str]] = {
    "no name": ({"name": ""}, "name"),
    "a long name": ({"name": "x" * 129}, "name"),
    "another's link": ({"link_id": "999"}, "link_id"),
    "a part that there is not": ({"parts": ["destination"]}, "parts"),
    "the pages of referrers": ({"parts": ["referrer_path"]}, "parts"),
    "a period": ({"period": "day"}, "period"),
    "no days": ({"period": "custom"}, "start_date"),
    "days in the wrong order": (
        {"period": "custom", "start_date": "2026-02-01", "end_date": "2026-01-01"}, "end_date"),
    "no day": ({"period": "custom", "start_date": "2026-02-30", "end_date": "2026-03-01"}, "start_date"),
    "a count": ({"least": "0"}, "least"),
    "a count that is none": ({"least": "many"}, "least"),
    "an expiry": ({"expires": "-1"}, "expires"),
    "a password and embedding": ({"password": "open sesame", "is_embeddable": "1"}, "is_embeddable"),
    "a host": ({"is_embeddable": "1", "embed_hosts": "a.example; script-src *"}, "embed_hosts"),
    "too many hosts": (
        {"is_embeddable": "1", "embed_hosts": "\n".join(f"h{n}.example" for n in range(21))}, "embed_hosts"),
}  # fmt: skip


def test_what_is_wrong_is_said(desk: Desk, session: scoped_session[Session]) -> None:
    for name, (more, field) in BAD.items():
        answer = desk.post("/shares/new", {**FORM, **more})
        assert answer.status_code == 422, name
        assert f'id="{field}-error"' in answer.text or field == "link_id", name
        assert "error" in answer.text, name
    assert count(session) == 0


def ended(share: StatisticsShare, token: str, world: dict[str, Any]) -> None:
    world["session"].execute(update(StatisticsShare).values(expires_datetime=clock.now() - DAY))


def revoked(share: StatisticsShare, token: str, world: dict[str, Any]) -> None:
    services.revoke(share)


def without_owner(share: StatisticsShare, token: str, world: dict[str, Any]) -> None:
    share.user.disabled_datetime = clock.now()


def left(share: StatisticsShare, token: str, world: dict[str, Any]) -> None:
    leaving.leave(share.user)


ENDINGS: dict[str, tuple[Callable[..., None], int]] = {
    "expired": (ended, 410),
    "revoked": (revoked, 410),
    "the owner is disabled": (without_owner, 404),
    "the owner has left": (left, 404),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_when_it_ends(
    ending: str, alice: User, factory: Factory, stranger: FlaskClient, session: scoped_session[Session]
) -> None:
    share, token = factory.share(alice, is_embeddable=True)
    act, status = ENDINGS[ending]
    for path in ("", "/embed"):
        assert page_of(stranger, token, path).status_code == 200
    session.rollback()
    write(act, session.get_one(StatisticsShare, share.id), token, {"session": session})
    for path in ("", "/embed"):
        answer = page_of(stranger, token, path)
        assert answer.status_code == status, path
        assert "Share" not in answer.text
    assert stranger.post(f"/dashboard/shared/{token}", data={"password": "x"}).status_code == status


def test_a_deleted_links_address_ends_and_comes_back(
    desk: Desk, alice: User, factory: Factory, stranger: FlaskClient, session: scoped_session[Session]
) -> None:
    link = factory.link(alice, "gone")
    _, token = factory.share(
        alice, link_id=link.id, start_date="2026-01-01", end_date="2026-02-01", period="custom"
    )
    assert desk.post(f"/links/{link.id}/delete", {}).status_code == 303
    assert page_of(stranger, token).status_code == 404
    restore = re.search(r"/dashboard/trash/undo/\w+", desk.get("/links/").text)
    assert restore
    assert desk.post(restore[0].removeprefix("/dashboard"), {}).status_code == 303
    assert page_of(stranger, token).status_code == 200
    project = factory.project(alice)
    _, of_project = factory.share(alice, project_id=project.id)
    assert desk.post(f"/projects/{project.id}/delete", {}).status_code == 303
    assert page_of(stranger, of_project).status_code == 404


def sent(page: str) -> dict[str, Any]:
    """What a browser would send of a form that nobody has touched."""
    found: dict[str, Any] = {}
    for tag in re.findall(r"<input [^>]*>", page):
        name, value = (re.search(f'{key}="([^"]*)"', tag) for key in ("name", "value"))
        is_ticked = "checked" in tag or not re.search(r'type="(checkbox|radio)"', tag)
        if name and is_ticked:
            found.setdefault(name[1], []).append(html.unescape(value[1]) if value else "on")
    for name, body in re.findall(r'<select [^>]*name="(\w+)"[^>]*>(.*?)</select>', page, re.DOTALL):
        found[name] = re.findall(r'value="([^"]*)" selected', body)
    return {name: values if len(values) > 1 else values[0] for name, values in found.items() if values}


def edit(desk: Desk, share_id: int, **changes: Any) -> Any:
    path = f"/shares/{share_id}/edit"
    return desk.post(path, sent(desk.get(path).text) | changes)


@pytest.mark.databases
def test_it_is_edited_and_its_address_stays(
    desk: Desk, alice: User, factory: Factory, stranger: FlaskClient, session: scoped_session[Session]
) -> None:
    days = {"period": "custom", "start_date": "2026-01-01", "end_date": "2026-02-01"}
    share, token = factory.share(alice, name="Before", parts=["country_code"], **days)
    id_ = share.id
    untouched = edit(desk, id_)
    assert untouched.status_code == 303
    session.refresh(share)
    assert (share.name, share.parts, share.start_date) == ("Before", ["country_code"], "2026-01-01")
    ends = clock.now().replace(microsecond=0) + dt.timedelta(days=3)
    answer = edit(
        desk,
        id_,
        name="After",
        period="7d",
        least="9",
        expires_datetime=f"{ends:%Y-%m-%dT%H:%M:%S}",
        password="open sesame",
    )
    assert answer.status_code == 303
    session.refresh(share)
    assert (share.name, share.period, share.start_date, share.least) == ("After", "7d", None, 9)
    assert (share.expires_datetime, share.parts) == (ends, ["country_code"])
    assert "Password needed" in page_of(stranger, token).text
    assert "open sesame" not in desk.get(f"/shares/{id_}/edit").text
    assert edit(desk, id_, name="Again").status_code == 303
    session.refresh(share)
    assert share.password_hash  # nobody has touched it
    assert edit(desk, id_, password="", expires_datetime="").status_code == 303
    assert "Again" in page_of(stranger, token).text
    session.refresh(share)
    assert (share.password_hash, share.expires_datetime) == (None, None)


def test_a_password_is_asked_for(
    alice: User, factory: Factory, stranger: FlaskClient, monkeypatch: Any
) -> None:
    share, token = factory.share(alice, name="hidden-name", password_hash=hash_password("open sesame"))
    hashed, path = share.password_hash, f"/dashboard/shared/{token}"
    asked = page_of(stranger, token)
    assert asked.status_code == 200
    assert "Password needed" in asked.text
    assert "hidden-name" not in asked.text
    assert "Set-Cookie" not in asked.headers
    wrong = stranger.post(path, data={"password": "guess"})
    assert wrong.status_code == 403
    assert "This is not the password." in wrong.text
    right = stranger.post(path, data={"password": "open sesame"}, headers={"Origin": "https://other.example"})
    assert (right.status_code, right.location) == (303, path)
    cookie = right.headers["Set-Cookie"]
    assert all(word in cookie for word in (f"Path={path}", "HttpOnly", "SameSite=Lax"))
    assert "hidden-name" in page_of(stranger, token).text
    _, other = factory.share(alice, password_hash=hashed)  # as one made again after a revoked one
    stranger.set_cookie("waypost_shared", cookie.split("=", 1)[1].split(";")[0], path="/")
    assert "Password needed" in page_of(stranger, other).text
    for body in ({}, {"password": ""}):
        assert stranger.post(path, data=body).status_code == 403
    assert stranger.post(path, data=b"\xff", content_type="text/plain").status_code == 403


@pytest.mark.parametrize(
    "passwords",
    [["another one"], ["open sesame"], ["", "open sesame"], ["another one", "open sesame"]],
    ids=["another", "the same", "none and the same", "another and the same"],
)
def test_a_newly_set_password_ends_earlier_cookies(
    desk: Desk, alice: User, factory: Factory, stranger: FlaskClient, passwords: list[str]
) -> None:
    share, token = factory.share(alice, name="hidden-name", password_hash=hash_password("open sesame"))
    path, id_ = f"/dashboard/shared/{token}", share.id
    stranger.post(path, data={"password": "open sesame"})
    assert edit(desk, id_, parts="device_type").status_code == 303
    assert "hidden-name" in page_of(stranger, token).text
    for password in passwords:
        assert edit(desk, id_, password=password).status_code == 303
    assert "Password needed" in page_of(stranger, token).text
    stranger.post(path, data={"password": passwords[-1]})
    assert "hidden-name" in page_of(stranger, token).text


def test_guesses_are_limited(alice: User, factory: Factory, stranger: FlaskClient, monkeypatch: Any) -> None:
    monkeypatch.setattr(shared, "TRIES", at_most(2, minutes=10, name="share-password"))
    _, token = factory.share(alice, password_hash=hash_password("open sesame"))
    path = f"/dashboard/shared/{token}"
    assert [stranger.post(path, data={"password": "guess"}).status_code for _ in range(3)] == [403, 403, 429]
    limited = stranger.post(path, data={"password": "open sesame"})
    assert limited.status_code == 429
    assert int(limited.headers["Retry-After"]) > 0


def test_bad_tokens_are_limited(
    alice: User, factory: Factory, stranger: FlaskClient, monkeypatch: Any
) -> None:
    monkeypatch.setattr(shared, "UNKNOWN", at_most(2, minutes=10, name="share-unknown"))
    _, token = factory.share(alice)
    assert [page_of(stranger, NOBODYS).status_code for _ in range(3)] == [404, 404, 429]
    assert page_of(stranger, token).status_code == 200  # what exists is still shown
    for malformed in ("x", "A" * 44, "A" * 42 + "é", "A" * 42 + "%00", "..", "new"):
        assert page_of(stranger, malformed).status_code == 404, malformed
    assert stranger.get("/dashboard/shared/").status_code == 404
    assert stranger.get(f"/dashboard/shared/{token}/more").status_code == 404


HOSTS: dict[str, tuple[str, str]] = {
    "any": ("", "*"),
    "one": ("Shop.example", "shop.example"),
    "several": (
        "https://shop.example/path\n*.blog.example\nlocalhost:3000",
        "shop.example *.blog.example localhost:3000",
    ),
}


@pytest.mark.parametrize(("typed", "allowed"), HOSTS.values(), ids=HOSTS)
def test_it_is_embedded_where_its_owner_allows(
    desk: Desk, stranger: FlaskClient, session: scoped_session[Session], typed: str, allowed: str
) -> None:
    answer = desk.post("/shares/new", {**FORM, "is_embeddable": "1", "embed_hosts": typed})
    share = session.scalars(select(StatisticsShare)).one()
    assert f"/dashboard/shared/{token_of(share)}/embed" in answer.text
    assert "&lt;iframe src=" in answer.text
    assert "border:0" in answer.text  # browsers draw one around frames
    embedded = page_of(stranger, token_of(share), "/embed")
    assert embedded.status_code == 200
    assert embedded.headers["Content-Security-Policy"].endswith(f"frame-ancestors {allowed}; base-uri 'none'")
    assert "X-Frame-Options" not in embedded.headers
    assert "Set-Cookie" not in embedded.headers
    assert "frame-ancestors 'none'" in page_of(stranger, token_of(share)).headers["Content-Security-Policy"]


def test_it_is_not_embedded_otherwise(alice: User, factory: Factory, stranger: FlaskClient) -> None:
    _, plain = factory.share(alice)
    _, locked = factory.share(alice, is_embeddable=True, password_hash=hash_password("open sesame"))
    for token in (plain, locked):
        answer = page_of(stranger, token, "/embed")
        assert answer.status_code == 404
        assert "frame-ancestors 'none'" in answer.headers["Content-Security-Policy"]


def test_uses_are_counted(
    desk: Desk, alice: User, factory: Factory, stranger: FlaskClient, session: Any, monkeypatch: Any
) -> None:
    _, token = factory.share(alice)
    monkeypatch.setattr(services, "_written", {})
    monkeypatch.setattr(services, "_uses", {})

    def uses() -> int:
        session.rollback()
        return session.scalar(select(StatisticsShare.uses)) or 0

    assert "Never opened" in desk.get("/shares/").text
    monkeypatch.setattr(services, "USE_SECONDS", 3600.0)
    page_of(stranger, token)
    assert uses() == 1
    stranger.head(f"/dashboard/shared/{token}")
    page_of(stranger, token)
    page_of(stranger, token)
    assert uses() == 1  # written at most once in that time
    monkeypatch.setattr(services, "USE_SECONDS", 0.0)
    page_of(stranger, token)
    assert uses() == 4
    assert "Opened 4 times, last" in text_of(desk.get("/shares/").text)


def test_both_ends_are_in_the_audit_log(desk: Desk, session: scoped_session[Session]) -> None:
    desk.post("/shares/new", {**FORM, "password": "open sesame"})
    share = session.scalars(select(StatisticsShare)).one()
    desk.post(f"/shares/{share.id}/revoke", {})
    desk.post(f"/shares/{share.id}/revoke", {})
    session.rollback()
    entries = session.scalars(select(AuditEntry).where(AuditEntry.object_type == "statistics_share")).all()
    assert [entry.action for entry in entries] == ["share.created", "share.revoked"]
    assert {entry.object_name for entry in entries} == {"For the team"}
    session.refresh(share)
    assert share.sealed_token == {}
    assert share.password_hash
    assert "sesame" not in share.password_hash
    assert "This share address has ended." in desk.get(f"/shares/{share.id}").text
