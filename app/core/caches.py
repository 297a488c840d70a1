"""Caches of pure functions of texts, each with a declared bound in bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any, ParamSpec, Protocol, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

# bytes of every text cache of a process, by the function's name
max_bytes_by_cache: dict[str, int] = {}


class TooLongError(Exception):
    """The texts are too long to be cached."""


class CachedFunction(Protocol[P, R_co]):
    """A function whose results for short texts are cached. `from_cache` is the same for the hottest code: one
    call less, but it raises TooLongError for longer ones."""

    @property
    def from_cache(self) -> Callable[P, R_co]: ...

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R_co: ...


def cache_texts(
    entries: int, *, max_characters: int, bytes_per_entry: int
) -> Callable[[Callable[P, R]], CachedFunction[P, R]]:
    """Caches results for texts (or bytes) of at most `max_characters` together; longer ones are not cached.

    Arguments are positional. Any visitor may send a long text once, and thousands of them would stay.
    `bytes_per_entry`: what the largest cached text takes with its result, as tests/core/test_caches.py
    measures it.
    """

    def decorate(function: Callable[P, R]) -> CachedFunction[P, R]:
        def answer_from_cache(*args: Any) -> R:
            if count_characters(args) > max_characters:
                raise TooLongError  # lru_cache keeps nothing of a call that raises
            return cast("Callable[..., R]", function)(*args)

        kept: Any = lru_cache(entries)(answer_from_cache)
        max_bytes_by_cache[f"{function.__module__}.{function.__qualname__}"] = entries * bytes_per_entry

        @wraps(function)
        def find(*args: P.args, **kwargs: P.kwargs) -> R:
            try:  # most texts are cached: their length is not measured again
                found: R = kept(*args)
            except TooLongError:
                return function(*args, **kwargs)
            return found

        of_cache = {"cache_clear": kept.cache_clear, "cache_info": kept.cache_info, "from_cache": kept}
        vars(find).update(of_cache, entries=entries)
        return cast("CachedFunction[P, R]", find)

    return decorate


def count_characters(args: tuple[Any, ...]) -> int:
    """Characters of texts, bytes, and of tuples of them."""
    count = 0
    for one in args:
        count += len(one) if isinstance(one, str | bytes) else count_characters(one)
    return count
