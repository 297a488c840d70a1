"""Visitors' pages in every language: the choice of it, and what pages may reveal."""

from __future__ import annotations

import datetime as dt
import html
import re
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from flask_babel import force_locale
from flask_login import LoginManager
from markupsafe import escape

from app.accounts.passwords import hash_password
from app.core.clock import now
from app.core.errors import StoreDown
from app.http_server.refusals import REFUSALS, Refusals
from app.i18n.languages import every_language, first_of
from app.links.models import Link
from app.public.answers import SYMBOL
from app.public.page_texts import PAGES, join_names
from app.public.pages import is_down
from app.redirects.visitor import languages
from app.redirects.wsgi import Front
from tests.i18n.catalogues import VISITORS, messages_in, read_catalogue
from tests.redirects.conftest import Person

Links = Callable[..., Link]
DAY = dt.timedelta(days=1)
NOT_FOUND = {
    "en": "This link does not exist",
    "de": "Diesen Link gibt es nicht",
    "fr": "Ce lien n’existe pas",
    "es": "Este enlace no existe",
    "pt": "Este link não existe",
}


def test_the_languages() -> None:
    assert set(every_language()) == set(NOT_FOUND)


@pytest.mark.parametrize("tag", sorted(set(every_language()) - {"en"}))
def test_every_language_says_all_of_it(tag: str) -> None:
    """Add what this names to the language's messages.po, then `make languages`."""
    known = read_catalogue(tag)
    texts = messages_in(*VISITORS)
    assert len(texts) > 50
    assert [text for text in texts if not known.get(text)] == []
    assert [text for text in texts if known[text] == text] == []


ACCEPTED = [
    ("", "en"), ("de", "de"), ("de-AT,en;q=0.5", "de"), ("pt-BR,pt;q=0.9,en;q=0.8", "pt"), ("en-GB,de;q=0.9", "en"),
    ("ja", "en"), ("ja,fr;q=0.2", "fr"), ("fr;q=0.3, ES;q=0.4", "es"), ("de;q=0", "en"), ("*", "en"), (";;=,", "en"),
    ("x" * 5000, "en"),
]  # fmt: skip


@pytest.mark.parametrize(("accepted", "tag"), ACCEPTED)
def test_which_language(accepted: str, tag: str) -> None:
    assert first_of(every_language(), languages(accepted)) == tag


LISTS = [
    ("en", [], ""),
    ("en", ["A"], "A"),
    ("en", ["A", "B"], "A and B"),
    ("en", ["A", "B", "C"], "A, B and C"),
    ("de", ["A", "B", "C"], "A, B und C"),
    ("fr", ["A", "B"], "A et B"),
]


def test_lists(app: Flask) -> None:
    for tag, given, listed in LISTS:
        with app.app_context(), force_locale(tag):
            assert join_names(given) == listed


@pytest.fixture(scope="module")
def pages() -> dict[str, tuple[str, dict[str, Any], dict[str, Any]]]:
    """For each page: the path, the link's columns, and how it is requested."""
    return {
        "password": ("/a", {"password_hash": hash_password("secret")}, {}),
        "warning": ("/a", {"sensitive_content": True}, {}),
        "not_yet": ("/a", {"start_date": now() + DAY}, {}),
        "expired": ("/a", {"end_date": now() - DAY}, {}),
        "not_found": ("/b", {}, {}),
        "leads": ("/a+", {"location_url": "https://example.com/"}, {}),
        "method": ("/a", {"sensitive_content": True}, {"method": "PUT"}),
        "prefetch": ("/a", {"sensitive_content": True}, {"headers": {"Purpose": "prefetch"}}),
        "pixels": ("/a", {"pixels": [("social_a", "1")]}, {}),
        "preview": ("/a", {"clicks_limit": 5}, {"agent": "curl/8"}),
        "confirmation": ("/a", {"clicks_limit": 5, "clicks_limit_confirmation_is_enabled": True}, {}),
    }


KNOWN = ["password", "warning", "not_yet", "expired", "leads", "pixels", "preview", "confirmation"]
TELLS = {"leads", "pixels"}
ALL = [*KNOWN, "not_found", "method", "prefetch"]


def texts_of(app: Flask, name: str, tag: str) -> tuple[str, str]:
    with app.app_context(), force_locale(tag):
        return html.escape(str(PAGES[name].title)), html.escape(str(PAGES[name].text))


@pytest.mark.parametrize("name", ALL)
def test_a_page_in_each_language(app: Flask, name: str, pages: Any, person: Person, link: Links) -> None:
    path, columns, asked = pages[name]
    link("a", **columns)
    for tag in every_language():
        title, text = texts_of(app, name, tag)
        headers = {"Accept-Language": f"{tag}-XX,{tag};q=0.9", **asked.get("headers", {})}
        answer = person.open(path, **{**asked, "headers": headers})
        assert f'<html lang="{tag}">' in answer.text
        assert f"<h1>{title}</h1>" in answer.text
        assert f"<p>{text}</p>" in answer.text
        assert "Accept-Language" in answer.headers["Vary"]


def test_what_a_plain_link_refuses_in_each_language(app: Flask, person: Person, link: Links) -> None:
    """Its redirects need no page, but refusals are pages in the visitor's language."""
    link("a")
    for tag in every_language():
        language = {"Accept-Language": f"{tag}-XX"}
        wrong = person.open("/a", method="DELETE", headers=language)
        early = person.open("/a", headers={**language, "Sec-Purpose": "prefetch"})
        for name, status, answer in (("method", 405, wrong), ("prefetch", 503, early)):
            assert answer.status_code == status
            assert f"<h1>{texts_of(app, name, tag)[0]}</h1>" in answer.text
            assert "example.com" not in f"{answer.headers}{answer.text}"


def test_refusals_are_prepared_in_each_language(app: Flask, front: Front) -> None:
    prepared = Refusals(app, front).pages
    assert prepared.keys() == {(kind.page, tag) for kind in REFUSALS for tag in every_language()}
    for (name, tag), page in prepared.items():
        assert f'<html lang="{tag}">' in page.decode()
        assert f"<h1>{texts_of(app, name, tag)[0]}</h1>" in page.decode()


def test_a_page_about_the_database_asks_nobody_who_is_signed_in(app: Flask, monkeypatch: Any) -> None:
    monkeypatch.setattr(LoginManager, "_load_user", lambda _: pytest.fail("it asks who is signed in"))
    with app.test_request_context("/dashboard/", headers={"Accept-Language": "fr"}):
        page = is_down(StoreDown("gone")).get_data(as_text=True)
    assert '<html lang="fr">' in page
    assert "Quelque chose ne fonctionne pas" in page


def test_what_an_owner_typed_is_never_translated(person: Person, link: Links) -> None:
    """Titles of links and names that are a message of the code by chance stay as they are."""
    made = {f"a{number}": text for number, text in enumerate(messages_in(*VISITORS))}
    for alias, title in made.items():
        link(alias, title=title, password_hash="x")
    for alias, title in made.items():
        page = person.open(f"/{alias}", headers={"Accept-Language": "de"}).text
        assert f'<p class="of">{escape(title)}</p>' in page
        assert "<h1>Passwort erforderlich</h1>" in page


@pytest.mark.parametrize("name", ALL)
def test_what_a_page_says_and_what_not(name: str, pages: Any, person: Person, link: Links) -> None:
    path, columns, asked = pages[name]
    link("a", title="Spring & more", notes="hush", **columns)
    answer = person.open(path, **asked)
    assert ("Spring &amp; more" in answer.text) == (name in KNOWN)
    assert ("example.com" in answer.text) == (name in TELLS)
    for secret in ("alice", "hush", "2026", "Waypost"):
        assert secret not in answer.text
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert (answer.headers["Cache-Control"], answer.headers["X-Robots-Tag"]) == ("no-store", "noindex")
    assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
    if name not in {"pixels", "password", "warning", "confirmation"}:
        assert "https:" not in answer.headers["Content-Security-Policy"]
        assert answer.headers["Referrer-Policy"] == "no-referrer"
    if name != "pixels":
        assert not re.findall(r"(?:src|href)=\"(?!data:,|/a\")", answer.text)


def test_a_disabled_link_looks_like_none(person: Person, link: Links) -> None:
    link("a", title="Spring", is_enabled=False)
    one, other = person.open("/a"), person.open("/b")
    assert one.data == other.data
    told = {"X-Request-Id"}
    assert {k: v for k, v in one.headers.items() if k not in told} == {
        k: v for k, v in other.headers.items() if k not in told
    }


def test_every_sign_is_there() -> None:
    from app.core.folders import ROOT

    drawn = dict(SYMBOL.findall((ROOT / "app" / "templates" / "public" / "_signs.svg").read_text()))
    assert set(drawn) == {page.sign for page in PAGES.values()}
