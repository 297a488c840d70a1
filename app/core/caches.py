"""Caches of pure functions of texts, each with a bound in bytes that is written down beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

# bytes of every text cache of a process, by the function's name
max_bytes_by_cache: dict[str, int] = {}


def cache_texts(
    entries: int, *, max_characters: int, bytes_per_entry: int
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Remember the answers for texts of at most `max_characters` together; longer ones are answered anew.

    Arguments are positional. Anybody may send a long text once, and thousands of them would stay.
    `bytes_per_entry`: what the worst text that is kept takes, with its answer: tests/test_caches.py measures.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        def answer(*args: Any) -> R:
            if count_characters(args) > max_characters:
                raise _TooLongError  # what raises is not remembered
            return cast("Callable[..., R]", function)(*args)

        kept: Any = lru_cache(entries)(answer)
        max_bytes_by_cache[f"{function.__module__}.{function.__qualname__}"] = entries * bytes_per_entry

        @wraps(function)
        def find(*args: P.args, **kwargs: P.kwargs) -> R:
            try:  # most texts are known: their length is not asked for again
                found: R = kept(*args)
            except _TooLongError:
                return function(*args, **kwargs)
            return found

        vars(find).update(cache_clear=kept.cache_clear, cache_info=kept.cache_info, entries=entries)
        return find

    return decorate


class _TooLongError(Exception):
    """The texts are longer than is kept."""


def count_characters(args: tuple[Any, ...]) -> int:
    """Characters of texts, and of tuples of texts."""
    count = 0
    for one in args:
        count += len(one) if isinstance(one, str) else count_characters(one)
    return count
