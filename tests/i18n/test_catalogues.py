"""Translations: catalogues are complete, messages are whole, and the API stays English."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from babel.messages.catalog import Catalog
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from flask import Flask
from flask_babel import force_locale

from app.core.extensions import db
from app.dashboard import domains, pixels, projects
from app.dashboard.account.api_keys import WORDS, takes
from app.dashboard.handlers import views as handlers
from app.dashboard.links import views as links
from app.dashboard.statistics import figures
from app.dashboard.statistics.views import PARTS
from app.dashboard.trash import KINDS
from app.i18n.languages import HERE, dashboard_languages, every_language
from app.i18n.messages import LazyMessage, lazy_gettext
from app.net.dial import TOO_SLOW
from app.notifications.models import DeliveryAttempt
from app.notifications.outbox import deliver
from app.openapi.operations import operations
from app.pixels.provider import all_providers
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
    for path, parts in told.items():
        page = german.get(path).text
        assert [word for word in parts if word not in page] == [], path
        assert [text for text in shown(page) if ENGLISH.search(text)] == [], path


def test_before_the_sign_in_the_browser_says_which(client: Any) -> None:
    for header, word in (("de-AT,en;q=0.5", "Anmelden"), ("fr", "Se connecter"), ("pt", "Sign in")):
        assert word in client.get("/login", headers={"Accept-Language": header}).text


def test_the_api_stays_english(german: Desk, alice: Any, api: Any) -> None:
    answer = api.post("/links", json={}, headers={"Accept-Language": "de"})
    assert answer.json["errors"][0]["title"] == "This is required."


FAMILIES = [one.FAMILY for one in (links, pixels, handlers, projects, domains)]
# slots that had nouns
NOUNS = {"one", "many", "noun", "calls_it", "hint"}


def said() -> Iterator[tuple[str, object]]:
    """All words that differ by a noun alone, each with its place."""
    for family in FAMILIES:
        yield from ((f"{family.name}: {name}", text) for name, text in family.words._asdict().items())
    for name, kind in KINDS.items():
        yield from ((f"trash: {name}", text) for text in (kind.name, kind.ask_restore, kind.ask_erase))
    for name, one in figures.WORDS.items():
        yield from ((f"statistics: {name}", text) for text in (one.many, one.all_of_them, one.as_csv))
    yield from ((f"part: {name}", part.loading) for name, part in PARTS.items())


def test_no_message_has_a_slot_for_a_noun() -> None:
    texts = [text if isinstance(text, str) else text[0] for text, _ in all_messages()]
    assert [text for text in texts if NOUNS & {*SLOT.findall(text)}] == []


def test_words_of_a_kind_of_row_are_messages_without_slots() -> None:
    known = {text for text, _ in all_messages()}
    for place, text in said():
        assert isinstance(text, LazyMessage), place
        _, message, values = text.parts
        assert message[0] in known, place
        assert not values, place


def test_slots_of_a_provider_have_its_name_and_its_example_alone() -> None:
    for type_, provider in all_providers().items():
        assert {*SLOT.findall(provider.hint)} == {"label"}, type_
        assert {*SLOT.findall(provider.mismatch)} == {"label", "example"}, type_


@pytest.mark.parametrize("language", dashboard_languages())
def test_a_warning_names_the_provider_and_an_example(app: Flask, language: str) -> None:
    with app.app_context(), force_locale(language):
        for provider in all_providers().values():
            assert provider.label in str(provider.worded_hint())
            warning = str(provider.warning("nonsense!"))
            assert provider.label in warning
            assert provider.example in warning


def test_german_has_an_article_of_its_own(app: Flask) -> None:
    with app.app_context(), force_locale("de"):
        assert [str(family.words.ask_delete) for family in FAMILIES] == [
            "Diesen Link löschen?",
            "Dieses Pixel löschen?",
            "Diesen Empfänger löschen?",
            "Dieses Projekt löschen?",
            "Diese Domain löschen?",
        ]
        assert str(figures.WORDS["country_code"].all_of_them) == "Alle Länder"
