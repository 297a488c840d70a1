"""In which language does a visitor read our pages, and what do they say in it?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from app.public import languages
from app.registry import modules

DEFAULT = "en"


@dataclass(frozen=True)
class Words:
    """The texts of one language. `pages`: a title and a sentence; `words`: labels and the like."""

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
        """Some names as a sentence has them: `A, B and C`."""
        if len(names) < 2:
            return "".join(names)
        first = ", ".join(names[:-1])
        return self("and", all=first, last=names[-1])


@cache
def all_words() -> Mapping[str, Words]:
    """Every language by its tag, the name of its file."""
    found = modules(languages).items()
    return MappingProxyType({tag: Words(tag, module.PAGES, module.WORDS) for tag, module in found})


def words_for(tags: Iterable[str]) -> Words:
    """The first of a visitor's languages, the best liked first, that there is; else English.

    `pt-BR` is read as `pt`. (Werkzeug's `best_match` would give who likes `de-AT, en;q=0.5` English.)
    """
    primary = (tag.partition("-")[0].lower() for tag in tags)
    return all_words()[next((tag for tag in primary if tag in all_words()), DEFAULT)]
