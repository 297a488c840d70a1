"""Names of languages: the tag for what people type."""

from __future__ import annotations

import pytest

from app.links.language_names import LANGUAGES, find_language


@pytest.mark.parametrize(
    ("typed", "tag"),
    {
        "English": ("German", "de"),
        "itself": ("Deutsch", "de"),
        "other letters": ("日本語", "ja"),
        "case and accents": ("FRANCAIS", "fr"),
        "another language": ("espagnol", "es"),
        "as suggested": ("Portuguese (Brazil)", "pt-BR"),
        "as people say": ("Brazilian Portuguese", "pt-BR"),
        "with a region": ("Deutsch (Österreich)", "de-AT"),
        "with any region": ("English (Ireland)", "en-IE"),
        "as browsers send": ("Simplified Chinese", "zh-CN"),
        "the usual one of two": ("Norwegian", "nb"),
        "a tag": ("ga", None),
        "a longer tag": ("pt-BR", None),
        "no language": ("Elvish", None),
        "no region": ("German (Atlantis)", None),
        "nothing": ("", None),
    }.values(),
)
def test_names(typed: str, tag: str | None) -> None:
    assert find_language(typed) == tag


def test_every_suggestion_is_read() -> None:
    assert {tag: find_language(str(name)) for tag, name in LANGUAGES.items()} == {
        tag: tag for tag in LANGUAGES
    }
