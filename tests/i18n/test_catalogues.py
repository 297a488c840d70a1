"""Translations: the whole dashboard is in German for owners who choose it, and the API stays English."""

from __future__ import annotations

import html
import io
import re
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po

from app.core.extensions import db
from app.dashboard.account.api_page import WORDS, takes
from app.i18n.languages import HERE, every_language
from app.i18n.messages import lazy_gettext
from app.net.dial import TOO_SLOW
from app.notifications.models import DeliveryAttempt
from app.notifications.outbox import deliver
from app.openapi.operations import operations
from scripts.catalogues import VISITORS, all_messages, api_texts, find_messages, lacking
from tests.dashboard.conftest import Desk, desk

__all__ = ["desk"]
LANGUAGES = sorted({*every_language()} - {"en"})
SLOT = re.compile(r"%\((\w+)\)s")


def path_of(language: str, suffix: str = "po") -> Path:
    return HERE / language / "LC_MESSAGES" / f"messages.{suffix}"


def messages(language: str) -> Catalog:
    with path_of(language).open("rb") as file:
        return read_po(file)


def forms_of(text: Any) -> list[str]:
    return list(text) if isinstance(text, tuple | list) else [text]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_message_is_missing(language: str) -> None:
    """`make messages` adds what this names."""
    with path_of(language).open("rb") as file:
        wanted = find_messages(*VISITORS) if read_po(file).language_team == "visitors" else all_messages()
    found = {(one.id, one.context) for one in messages(language)}
    assert not {place: text for text, place in wanted.items() if text not in found}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_translated(language: str) -> None:
    assert not lacking(messages(language))
    assert not [one.id for one in messages(language) if one.fuzzy and one.id]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_catalogue_has_nothing_else(language: str) -> None:
    """A message that the code has no more is removed by `make messages`."""
    wanted = {*all_messages()}
    assert not [one.id for one in messages(language) if one.id and (one.id, one.context) not in wanted]


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_uses_only_slots_that_there_are(language: str) -> None:
    for one in messages(language):
        known = {slot for form in forms_of(one.id) for slot in SLOT.findall(form)}
        for form in forms_of(one.string):
            assert set(SLOT.findall(form)) <= known, one.id
            if one.id and known:  # a percent sign alone would break the formatting
                assert form % dict.fromkeys(known, "x")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_compiled_catalogue_is_the_written_one(language: str) -> None:
    written = io.BytesIO()
    write_mo(written, messages(language))
    assert path_of(language, "mo").read_bytes() == written.getvalue(), "make messages"


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


def test_each_call_of_the_api_is_described_in_german(german: Desk) -> None:
    found = {one.id for one in messages("de")}
    places = {told.place for one in operations() for told in takes(one)} - {"", "query"}
    assert [text for text in sorted({*api_texts(), *places}) if text not in found] == [
        "UTM campaign",  # names of parameters
        "UTM medium",
        "UTM source",
    ]
    page = german.get("/api/").text
    assert "Text, höchstens 8.192 Zeichen; Eine vollständige Adresse" in page
    assert "<code>25</code>, wenn nicht gesendet" in page
    said = " ".join(shown(page))
    words = {*WORDS.values(), "one of", "at most", "unless sent", "characters", "An absolute address"} - {
        "text"
    }
    assert not [word for word in sorted(words) if re.search(rf"\b{re.escape(word)}\b", said)]


def test_what_is_stored_is_read_in_german(german: Desk, alice: Any, factory: Any, api: Any) -> None:
    """Reasons of failures are stored as messages with their values: the API reads the same ones in English."""
    answer = lazy_gettext(
        "The server answered %(status)s %(phrase)s.", status=503, phrase="Service Unavailable"
    )
    reason = lazy_gettext(
        "No notification has arrived for five days. The last answer: %(detail)s", detail=answer
    )
    handler = factory.handler(alice, is_enabled=False, off_reason=reason)
    delivery = deliver(factory.session, handler.id, "link.started", {})
    delivery.attempts = [DeliveryAttempt(detail=TOO_SLOW, duration_ms=1)]
    factory.session.commit()
    log = api.get(f"/notification-handlers/{handler.id}/deliveries").json["data"]
    assert log[0]["attempts"][0]["detail"] == "The server did not answer in time."
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
        "/handlers/": ("Der Server antwortete 503", "nicht rechtzeitig geantwortet", "Link gestartet"),
        f"/handlers/{handler.id}": ("Der Server antwortete 503",),
        f"/handlers/{handler.id}/deliveries": (
            "Der Server antwortete 503",
            "nicht rechtzeitig geantwortet",
            "Link gestartet",
        ),
        f"/links/{id_}/history": (
            "Angelegt",
            "Geändert",
            "Neu gesetzt",
            "<del><bdi>Aus</bdi></del> <ins><bdi>Ein</bdi></ins>",
            "Land",
        ),
    }
    for path, words in told.items():
        page = german.get(path).text
        assert [word for word in words if word not in page] == [], path
        assert [text for text in shown(page) if ENGLISH.search(text)] == [], path


def test_before_the_sign_in_the_browser_says_which(client: Any) -> None:
    for header, word in (("de-AT,en;q=0.5", "Anmelden"), ("fr", "Se connecter"), ("pt", "Sign in")):
        assert word in client.get("/login", headers={"Accept-Language": header}).text


def test_the_api_stays_english(german: Desk, alice: Any, api: Any) -> None:
    answer = api.post("/links", json={}, headers={"Accept-Language": "de"})
    assert answer.json["errors"][0]["title"] == "This is required."
