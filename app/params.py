"""Reads the parameters of a query one by one, each of bounded length, and collects what is wrong."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from app.errors import FieldError, Invalid
from app.reading import Problem, Rejected, too_long

# Characters of one parameter, unless its reader takes longer ones: an address that is pasted into a search.
# Databases refuse patterns of more than some ten thousands.
MAX_CHARACTERS = 2048
# Characters of a list's whole query with its escapes, which the links to its pages repeat.
MAX_QUERY = 3500


class ParamReader:
    """The parameters of one query. One sent empty is one not sent, where `ignores_empty`."""

    def __init__(self, params: Mapping[str, str], *, ignores_empty: bool = False) -> None:
        self.params, self.ignores_empty = params, ignores_empty
        self.problems: list[FieldError] = []

    def read(
        self,
        name: str,
        default: Any,
        parse: Callable[[str], Any],
        max_characters: int = MAX_CHARACTERS,
    ) -> Any:
        """What `parse` makes of a parameter; `default` where it was not sent, or can't be used."""
        text = self.params.get(name)
        if text is None or (self.ignores_empty and not text):
            return default
        try:
            return parse(bounded(text, max_characters))
        except Rejected as rejected:
            self.problems.append(problem(name, rejected))
            return default

    def require_valid(self) -> None:
        """Raise Invalid with every parameter that can't be used."""
        if self.problems:
            raise Invalid(*self.problems)


def bounded(text: str, max_characters: int) -> str:
    """The text, when it is short enough; else Rejected."""
    if len(text) > max_characters:
        raise too_long(text, max_characters)
    return text


def problem(name: str, rejected: Rejected) -> FieldError:
    """What a value was refused for, as an error of its parameter."""
    text = rejected.args[0]
    return FieldError(str(text), text.code if isinstance(text, Problem) else "invalid", name)
