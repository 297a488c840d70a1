"""Caches of pure functions of texts, each with a bound in bytes that is written down beside it."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# bytes of every text cache of a process, by the function's name
max_bytes_by_cache: dict[str, int] = {}


def cache_texts(
    entries: int, *, max_characters: int, bytes_per_entry: int
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Remember the answers for texts of at most `max_characters` together; longer ones are answered anew.

    Anybody may send a long text once, and thousands of them would stay. `bytes_per_entry`: what the worst
    text that is kept takes, with its answer; tests/test_caches.py measures it.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        kept: Any = lru_cache(entries)(function)
        max_bytes_by_cache[f"{function.__module__}.{function.__qualname__}"] = entries * bytes_per_entry

        @wraps(function)
        def find(*args: P.args, **kwargs: P.kwargs) -> R:
            if count_characters(args) > max_characters:
                return function(*args, **kwargs)
            found: R = kept(*args, **kwargs)
            return found

        vars(find).update(cache_clear=kept.cache_clear, cache_info=kept.cache_info, entries=entries)
        return find

    return decorate


def count_characters(args: tuple[Any, ...]) -> int:
    """Characters of texts, and of tuples of texts."""
    count = 0
    for one in args:
        count += len(one) if isinstance(one, str) else count_characters(one)
    return count
