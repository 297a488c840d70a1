"""What is said with a noun in it is a whole message: other languages decline the noun, and have articles."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from flask import Flask
from flask_babel import force_locale

from app.dashboard import domains, pixels, projects
from app.dashboard.handlers import views as handlers
from app.dashboard.links import views as links
from app.dashboard.statistics import figures
from app.dashboard.statistics.views import PARTS
from app.dashboard.trash import KINDS
from app.i18n.languages import dashboard_languages
from app.i18n.messages import LazyMessage
from app.pixels.provider import all_providers
from scripts.catalogues import all_messages
from tests.i18n.test_catalogues import SLOT

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
