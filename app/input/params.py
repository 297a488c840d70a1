"""The reader of query parameters: each is of bounded length, and all errors are collected."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from app.core.errors import FieldError, Invalid
from app.input.parsers import Problem, Rejected, too_long

# Characters of one parameter, unless its reader allows more: enough for an address pasted into a search.
# Databases refuse patterns of more than some ten thousand characters.
MAX_CHARACTERS = 2048
# Characters of a list's whole query with its escapes, which the links to its pages repeat.
MAX_QUERY = 3500

#: the parameters of a query; of one sent twice the last (or all, as Several)
QueryParams = Mapping[str, str]
Parsed = TypeVar("Parsed")
Default = TypeVar("Default")


class Several(str):
    """All values of a parameter that was sent more than once; as a text it is the last of them."""

    values: tuple[str, ...] = ()

    @classmethod
    def of(cls, values: Sequence[str]) -> str:
        """One value as it is, several as one text that knows all of them, each once."""
        unique = tuple(dict.fromkeys(values))
        if len(unique) == 1:
            return unique[0]
        found = cls(unique[-1])
        found.values = unique
        return found


def values_of(text: str) -> Sequence[str]:
    """All values of a parameter, most often one."""
    return text.values if isinstance(text, Several) else (text,)


class ParamReader:
    """Reads the parameters of one query. With `ignores_empty` one sent empty counts as not sent."""

    def __init__(self, params: QueryParams, *, ignores_empty: bool = False) -> None:
        self.params, self.ignores_empty = params, ignores_empty
        self.problems: list[FieldError] = []

    def read(
        self,
        name: str,
        default: Default,
        parse: Callable[[str], Parsed],
        max_characters: int = MAX_CHARACTERS,
    ) -> Parsed | Default:
        """The parsed value of a parameter; `default` where it was not sent or can't be used."""
        text = self.params.get(name)
        if text is None or (self.ignores_empty and not text):
            return default
        return self.parse(name, text, default, lambda text: parse(bounded(text, max_characters)))

    def parse(
        self, name: str, text: str, default: Default, parse: Callable[[str], Parsed]
    ) -> Parsed | Default:
        """The parsed text, as a value of this parameter; `default` where it can't be used."""
        try:
            return parse(text)
        except Rejected as rejected:
            self.add_problem(name, rejected)
            return default

    def add_problem(self, name: str, rejected: Rejected) -> None:
        """Adds the reason for which a value was refused as an error of its parameter."""
        problem: Problem = rejected.args[0]
        self.problems.append(FieldError(problem.title, problem.code, name))

    def require_valid(self) -> None:
        """Raises Invalid with every parameter that can't be used."""
        if self.problems:
            raise Invalid(*self.problems)


def bounded(text: str, max_characters: int) -> str:
    """The text. Raises Rejected where it is too long."""
    if len(text) > max_characters:
        raise too_long(text, max_characters)
    return text
