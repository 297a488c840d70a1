"""Visitors' pages in every language: the choice of it, and what pages may reveal."""

from __future__ import annotations

import datetime as dt
import re
import string
from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.passwords import hash_password
from app.core.clock import now
from app.links.models import Link
from app.public.answers import SIGNS, SYMBOL
from app.public.i18n import PageTexts, all_words, words_for
from app.redirects.visitor import languages
from tests.redirects.conftest import Person

Links = Callable[..., Link]
DAY = dt.timedelta(days=1)
ENGLISH = all_words()["en"]


def names(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("tag", all_words())
def test_every_language_says_the_same_things(tag: str) -> None:
    words = all_words()[tag]
    assert set(words.pages) == set(ENGLISH.pages)
    assert set(words.words) == set(ENGLISH.words)
    for name, texts in words.pages.items():
        assert [names(text) for text in texts] == [names(text) for text in ENGLISH.pages[name]]
        assert all(text.strip() == text and text for text in texts)
    for name, text in words.words.items():
        assert names(text) == names(ENGLISH.words[name])


def test_the_languages() -> None:
    assert {"en", "de", "fr", "es", "pt"} <= set(all_words())


@pytest.mark.parametrize("tag", sorted(set(all_words()) - {"en"}))
def test_nothing_was_left_in_english(tag: str) -> None:
    words = all_words()[tag]
    assert [name for name in words.pages if words.pages[name] == ENGLISH.pages[name]] == []
    assert [name for name in words.words if words.words[name] == ENGLISH.words[name]] == []


ACCEPTED = [
    ("", "en"), ("de", "de"), ("de-AT,en;q=0.5", "de"), ("pt-BR,pt;q=0.9,en;q=0.8", "pt"), ("en-GB,de;q=0.9", "en"),
    ("ja", "en"), ("ja,fr;q=0.2", "fr"), ("fr;q=0.3, ES;q=0.4", "es"), ("de;q=0", "en"), ("*", "en"), (";;=,", "en"),
    ("x" * 5000, "en"),
]  # fmt: skip


@pytest.mark.parametrize(("accepted", "tag"), ACCEPTED)
def test_which_language(accepted: str, tag: str) -> None:
    assert words_for(languages(accepted)).lang == tag


@pytest.mark.parametrize(
    ("given", "listed"), [([], ""), (["A"], "A"), (["A", "B"], "A and B"), (["A", "B", "C"], "A, B and C")]
)
def test_lists(given: list[str], listed: str) -> None:
    assert ENGLISH.listed(given) == listed


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


@pytest.mark.parametrize("tag", all_words())
@pytest.mark.parametrize("name", ALL)
def test_a_page_in_each_language(name: str, tag: str, pages: Any, person: Person, link: Links) -> None:
    path, columns, asked = pages[name]
    link("a", **columns)
    words: PageTexts = all_words()[tag]
    headers = {"Accept-Language": f"{tag}-XX,{tag};q=0.9", **asked.get("headers", {})}
    answer = person.open(path, **{**asked, "headers": headers})
    assert f'<html lang="{tag}">' in answer.text
    assert f"<h1>{words.title(name)}</h1>" in answer.text
    assert words.text(name) in answer.text
    assert "Accept-Language" in answer.headers["Vary"]


@pytest.mark.parametrize("tag", all_words())
def test_what_a_plain_link_refuses_in_each_language(tag: str, person: Person, link: Links) -> None:
    """Its redirects need no page, but refusals are pages in the visitor's language."""
    link("a")
    language = {"Accept-Language": f"{tag}-XX"}
    wrong = person.open("/a", method="DELETE", headers=language)
    early = person.open("/a", headers={**language, "Sec-Purpose": "prefetch"})
    for name, status, answer in (("method", 405, wrong), ("prefetch", 503, early)):
        assert answer.status_code == status
        assert f"<h1>{all_words()[tag].title(name)}</h1>" in answer.text
        assert "example.com" not in f"{answer.headers}{answer.text}"


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
    from app.core.config import ROOT

    drawn = dict(SYMBOL.findall((ROOT / "app" / "templates" / "public" / "_signs.svg").read_text()))
    assert set(drawn) == {*SIGNS.values(), "info"}
    assert set(SIGNS) <= set(ENGLISH.pages)
