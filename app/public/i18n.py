"""Texts of visitors' pages, and the choice of the visitor's language."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from app.core.registry import modules
from app.public import languages
from app.redirects.request_context import visitor

DEFAULT = "en"


@dataclass(frozen=True)
class PageTexts:
    """The texts of one language. `pages`: a title and a sentence each; `words`: labels and messages."""

    lang: str
    pages: Mapping[str, tuple[str, str]]
    words: Mapping[str, str]

    def title(self, page: str, **values: str) -> str:
        return self.pages[page][0].format(**values)

    def text(self, page: str, **values: str) -> str:
        return self.pages[page][1].format(**values)

    def __call__(self, name: str, **values: str) -> str:
        return self.words[name].format(**values)

    def listed(self, names: Sequence[str]) -> str:
        """Names joined for a sentence: `A, B and C`."""
        if len(names) < 2:
            return "".join(names)
        first = ", ".join(names[:-1])
        return self("and", all=first, last=names[-1])


@cache
def all_words() -> Mapping[str, PageTexts]:
    """The texts of every language by its tag, which is the name of its file."""
    found = modules(languages).items()
    return MappingProxyType({tag: PageTexts(tag, module.PAGES, module.WORDS) for tag, module in found})


def words_for(tags: Iterable[str]) -> PageTexts:
    """The texts in the first available of these languages, given in the order of preference; else in English.

    `pt-BR` is read as `pt`. (For `de-AT, en;q=0.5` Werkzeug's `best_match` would choose English.)
    """
    primary = (tag.partition("-")[0].lower() for tag in tags)
    return all_words()[next((tag for tag in primary if tag in all_words()), DEFAULT)]


def words() -> PageTexts:
    """The texts in the visitor's language."""
    return words_for(visitor().languages)
