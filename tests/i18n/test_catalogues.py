"""Translations: the whole dashboard is in German for owners who choose it, and the API stays English."""

from __future__ import annotations

import html
import io
import re
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import read_mo
from babel.messages.pofile import read_po
from flask import Flask

from app.core.config import ROOT
from app.core.extensions import db
from app.dashboard.account.api_page import WORDS, takes
from app.i18n import NAMES, SLOT, catalogue
from app.i18n.extraction import all_texts, needs_words, of_python
from app.i18n.languages import every_language
from app.notifications.models import DeliveryAttempt
from app.notifications.outbox import deliver
from app.openapi.document import PROBLEMS
from app.openapi.operations import operations
from tests.dashboard.conftest import Desk, desk

__all__ = ["desk"]
LANGUAGES = sorted(set(NAMES) - {"en"})
HERE = ROOT / "app" / "i18n"


def messages(language: str) -> dict[str, str]:
    with (HERE / language / "LC_MESSAGES" / "messages.po").open("rb") as file:
        return texts_of(read_po(file))


def texts_of(catalogue: Catalog) -> dict[str, str]:
    """The translation of each text, or `context: text`; of one with plural forms, of each form."""
    found = {}
    for one in catalogue:
        about = one.context or ""
        about = about.decode() if isinstance(about, bytes) else about  # as in compiled catalogues
        is_plural = isinstance(one.id, list | tuple)
        forms = zip(one.id, one.string or (), strict=True) if is_plural else [(one.id, one.string)]
        found |= {f"{about}: {id_}" if about else str(id_): str(text) for id_, text in forms if id_}
    return found


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_is_missing(language: str) -> None:
    """Add what this names to messages.po, then `make languages`."""
    known = messages(language)
    missing = {
        text: place for text, place in all_texts(ROOT).items() if needs_words(text) and not known.get(text)
    }
    assert not missing, "\n".join(f"{place}: {text}" for text, place in missing.items())


@pytest.mark.parametrize("language", sorted({*every_language()} - {"en"}))
def test_a_translation_uses_only_slots_that_there_are(language: str) -> None:
    for text, translated in messages(language).items():
        assert set(SLOT.findall(translated)) <= set(SLOT.findall(text)), text


@pytest.mark.parametrize("language", sorted({*every_language()} - {"en"}))
def test_the_compiled_catalogue_is_the_written_one(language: str) -> None:
    with (HERE / language / "LC_MESSAGES" / "messages.mo").open("rb") as file:
        compiled = texts_of(read_mo(file))
    assert compiled == messages(language)


def test_texts_of_python() -> None:
    source = b'"""Not this."""\nraise X(f"{name} has {len(a)} of it.")\nlog.info("Not this")\nLABEL = "Some word"\nK = "Sec-Fetch-Site"'
    found = [text for _, _, text, _ in of_python(io.BytesIO(source), (), (), {})]
    assert sorted(found) == ["%(name)s has %(value)s of it.", "Some word"]


SAID = {
    "a text": ("Delete", "Löschen"),
    "white space stays": (" Delete\n", " Löschen\n"),
    "with a slot": ("localhost/a is saved.", "localhost/a ist gespeichert."),
    "with a text in the slot": ("Create link", "Link anlegen"),
    "several sentences": (
        "This is required. This can't be empty.",
        "Das wird gebraucht. Das darf nicht leer sein.",
    ),
    "things one after the other": ("No limit; no password", "Kein Limit; kein Passwort"),
    "nothing known": ("Hullabaloo of mine", "Hullabaloo of mine"),
}


@pytest.mark.parametrize("name", SAID)
def test_said_in_german(name: str) -> None:
    text, german = SAID[name]
    found = catalogue("de")
    assert found
    assert found.say(text) == german


# ----------------------------------------------------------------- on pages

ENGLISH = re.compile(r"\b(the|of|your|with|and|not|can|this|have|are|for|what|must)\b", re.IGNORECASE)
UNREAD = re.compile(r"<(script|style|svg|code|pre|datalist|option|title)\b.*?</\1>", re.DOTALL)


def shown(page: str) -> list[str]:
    """All texts of a page, and attributes that are read out."""
    page = UNREAD.sub("", page)
    attributes = re.findall(r'(?:aria-label|title|placeholder)="([^"]*)"', page)
    return [
        html.unescape(text).strip() for text in [*re.split(r"<[^>]*>", page), *attributes] if text.strip()
    ]


@pytest.fixture
def german(desk: Desk, alice: Any) -> Desk:
    alice.language = "de"
    db.session.commit()
    return desk


def test_every_page_is_german(german: Desk, alice: Any, factory: Any, app: Flask) -> None:
    for make in (factory.link, factory.pixel, factory.handler, factory.key, factory.project):
        make(alice)
    rules = [rule for rule in app.url_map.iter_rules() if rule.rule.startswith("/dashboard/")]
    paths = sorted({re.sub(r"<int:\w+>", "1", rule.rule) for rule in rules if "GET" in (rule.methods or ())})
    left = {}
    for path in paths:
        answer = german.get(path.removeprefix("/dashboard"))
        if "<" in path or answer.mimetype != "text/html" or answer.status_code != 200:
            continue
        found = [text for text in shown(answer.text) if ENGLISH.search(text)]
        if found:
            left[path] = found
    assert not left, "\n".join(f"{path}: {texts}" for path, texts in left.items())


def test_each_call_of_the_api_is_described_in_german(german: Desk) -> None:
    found = catalogue("de")
    assert found
    every = operations()
    places = {told.place for one in every for told in takes(one)} - {"", "query"}
    texts = {one.summary for one in every} | {one.tag for one in every} | places | set(PROBLEMS.values())
    assert [text for text in sorted(texts) if found.found(text) is None] == [
        "UTM campaign",  # names of parameters
        "UTM medium",
        "UTM source",
    ]
    page = german.get("/api/").text
    assert "Text, höchstens 8.192 Zeichen; Eine vollständige Adresse" in page
    assert "<code>25</code> wenn nicht gesendet" in page
    said = " ".join(shown(page))
    words = {*WORDS.values(), "one of", "at most", "unless sent", "characters", "An absolute address"} - {
        "text"
    }
    assert not [word for word in sorted(words) if re.search(rf"\b{re.escape(word)}\b", said)]


def test_errors_and_messages_are_german(german: Desk) -> None:
    wrong = german.post("/links/new", {"location_url": "javascript:x", "clicks_limit": "-1"}).text
    assert 'lang="de"' in wrong
    assert "Das muss eine ganze Zahl von 0 bis 2.147.483.647 sein." in wrong
    done = german.post(
        "/links/new", {"location_url": "https://example.com", "url": "eins"}, follow_redirects=True
    )
    assert "localhost/eins ist angelegt." in done.text


def test_what_is_kept_in_english_is_read_in_german(german: Desk, alice: Any, factory: Any, api: Any) -> None:
    """Reasons of failures and changes of links are stored in English."""
    reason = (
        "Nothing has arrived for five days. The last answer: The server answered 503 Service Unavailable."
    )
    handler = factory.handler(alice, is_enabled=False, off_reason=reason)
    delivery = deliver(factory.session, handler.id, "link.started", {})
    delivery.attempts = [DeliveryAttempt(detail="The server did not answer in time.", duration_ms=1)]
    factory.session.commit()
    first = {"location_url": "https://example.com", "password": "one", "is_enabled": "0"}
    id_ = api.post("/links", json=first).json["data"]["id"]
    changes = {
        "password": "two",
        "is_enabled": "1",
        "targeting_type": "country_code",
        "http_status_code": "301",
    }
    assert api.post(f"/links/{id_}", json=changes).status_code == 200
    told = {
        "/handlers/": ("Der Server antwortete 503", "nicht rechtzeitig geantwortet", "Link begonnen"),
        f"/handlers/{handler.id}": ("Der Server antwortete 503",),
        f"/handlers/{handler.id}/deliveries": (
            "Der Server antwortete 503",
            "nicht rechtzeitig geantwortet",
            "Link begonnen",
        ),
        f"/links/{id_}/history": (
            "Angelegt",
            "Geändert",
            "Neu gesetzt",
            "<del>Aus</del> <ins>Ein</ins>",
            "Land",
        ),
    }
    for path, words in told.items():
        page = german.get(path).text
        assert [word for word in words if word not in page] == [], path
        assert [text for text in shown(page) if ENGLISH.search(text)] == [], path


def test_before_the_sign_in_the_browser_says_which(client: Any) -> None:
    for header, word in (("de-AT,en;q=0.5", "Anmelden"), ("fr", "Sign in")):
        assert word in client.get("/login", headers={"Accept-Language": header}).text


def test_the_api_stays_english(german: Desk, alice: Any, api: Any) -> None:
    answer = api.post("/links", json={}, headers={"Accept-Language": "de"})
    assert answer.json["errors"][0]["title"] == "This is required."
