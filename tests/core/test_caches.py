"""Caches: where visitors choose keys or values, a cache is bounded by a number of bytes."""

from __future__ import annotations

import importlib
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

from app.analytics import interning
from app.core.caches import max_bytes_by_cache
from app.core.config import Settings
from app.redirects import cache as plans
from app.redirects.compiled_link import CompiledLink
from app.redirects.context import encode_utm

MIB = 1024 * 1024

# decorated functions, and containers that a module or an object fills: how many bytes each takes at most
BOUNDS: dict[str, int] = {
    "accounts/keys.py _made": 1000 * 12_000,  # a key and its user; all their texts are of bounded columns
    "accounts/keys.py _tried": 1000 * 250,
    "rate_limit/limiter.py self.ends": 10_000 * 250,
    "audit/failures.py self.counts": 3 * 50 * 2000,
    "audit/failures.py self.ends": 3 * 50 * 2000,
    "analytics/interning.py self._known": 64 * MIB,
    "domains/hosts.py glance": 8192 * 1500,
    "core/error_boundary.py self._failing": 10_000 * 500,  # an item's id or a server's name
    "core/error_boundary.py self._said": 10_000 * 1500,  # the same with the error's text
    "journal/writer.py self._lines": 256 * 1024 * 3 // 2,  # lines, and what each takes as an object
    "i18n/__init__.py dated_in": 5000 * 1000,
    "i18n/__init__.py digits_in": 5000 * 500,
    "core/logging.py self.said": 500 * 1100,
    "net/networks.py mask_address": 48 * 800,
    "links/clicks.py self.late": 100_000 * 100,  # ids of links, as a set has them
    "i18n/__init__.py percent_in": 200 * 500,
    "public/cards.py read_size": 1000 * 300,  # names of stored pictures
    "import_export/rows.py form_for": 64 * 64_000,  # a class of at most 40 fields
    "redirects/bots.py known_bot_name": 4096 * 1000,
    "redirects/cache.py self.old": 24 * MIB,
    "redirects/cache.py self.spellings": 8 * MIB,
    "redirects/cache.py self.young": 24 * MIB,
    "redirects/user_agent.py known_device": 4096 * 4500,
    "redirects/context.py encode_browser": 2048 * 8000,
    "redirects/context.py encode_location": 4096 * 1600,
    "redirects/context.py encode_utm": 1024 * 2800,
    "redirects/referrer.py referrer": 2048 * 2000,
    "links/targeting.py normalize": 4096 * 1500,
    "links/targeting.py ranges": 1024 * 8000,
    "redirects/visitor.py languages": 1024 * 4500,
}


def test_all_caches_together_are_small() -> None:
    """All caches of a web process take less than half of the 512 MiB that it may take."""
    assert sum(BOUNDS.values()) < 256 * MIB


def wide(number: int, characters: int) -> str:
    """A text with the most bytes for each character, different for each number."""
    return f"{number:06}".ljust(characters, "\U0001f600")


def latin(number: int, characters: int) -> str:
    """The same for a header, whose characters are bytes."""
    return f"{number:06}".ljust(characters, "\xff")


# the largest arguments that visitors can send, as long as is cached
WORST: dict[str, Callable[[int], tuple[Any, ...]]] = {
    "redirects/bots.py known_bot_name": lambda n: (latin(n, 512),),
    "redirects/user_agent.py known_device": lambda n: (wide(n, 512),),
    "redirects/context.py encode_browser": lambda n: (
        latin(n, 512).encode("latin-1"),
        ",".join([f"{n:06}", *(f"{chr(97 + i)}a" for i in range(10))]).encode(),
        f"https://{n}.example/{wide(n, 50)}".encode(),
    ),
    "redirects/context.py encode_location": lambda n: ("DE", "EU", wide(n, 128)),
    "redirects/context.py encode_utm": lambda n: (wide(n, 80), wide(n, 80), wide(n, 80)),
    "redirects/referrer.py referrer": lambda n: (
        f"https://{n}.example/{wide(n, 50).encode().decode('latin-1')}",
    ),
    "links/targeting.py normalize": lambda n: (wide(n, 128),),
    "links/targeting.py ranges": lambda n: ((f"{n:06}-" + "a-" * 46 + "a",),),
    "redirects/visitor.py languages": lambda n: (
        ",".join([f"{n:06}", *(f"{chr(97 + i)}{chr(97 + n % 26)}" for i in range(26))]),
    ),
    "net/networks.py mask_address": lambda n: (f"2001:db8:{n % 10_000}::1%{'x' * 24}",),
    "domains/hosts.py glance": lambda n: (f"{n:06}." + "a" * 63 + ".example",),
}


@pytest.mark.parametrize("name", WORST)
def test_the_worst_texts_take_no_more_than_is_said(name: str) -> None:
    path, _, function_name = name.partition(" ")
    module = importlib.import_module("app." + path.removesuffix(".py").replace("/", "."))
    function = getattr(module, function_name)
    total = max_bytes_by_cache[f"{module.__name__}.{function_name}"]
    assert total == BOUNDS[name]
    function.cache_clear()
    function(*WORST[name](999_999))  # allocations of the first call are not measured
    function.cache_clear()
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        for number in range(100):
            function(*WORST[name](number))
        taken = tracemalloc.get_traced_memory()[0] - before
    finally:
        tracemalloc.stop()
    assert taken / 100 * function.entries <= total
    assert taken > 100 * 100, "nothing was kept: the text is longer than is kept"
    function.cache_clear()


def test_every_text_cache_is_measured() -> None:
    measured = {f"app.{name.partition('.')[0].replace('/', '.')}.{name.partition(' ')[2]}" for name in WORST}
    assert measured == max_bytes_by_cache.keys()


def test_longer_texts_are_not_kept() -> None:
    encode_utm.cache_clear()
    assert encode_utm("x" * 257, "", "") != encode_utm("y" * 257, "", "")
    assert encode_utm.cache_info().currsize == 0


def test_terms_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interning, "MAX_BYTES", 10_000)
    known = interning.Interner()
    for number in range(100):
        known._fresh = {wide(number, 200): number}
        known.keep()
        assert len(known._known) <= 10


def test_spellings_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    monkeypatch.setattr(plans, "MAX_SPELLING_BYTES", 10_000)
    found = plans.CompiledLinks(settings)
    plan = CompiledLink(
        id=1,
        workspace_id=1,
        domain_id=0,
        url="a",
        location_url="https://example.com/",
        http_status_code=302,
        password_version=0,
        schemes=frozenset({"https"}),
    )
    for number in range(100):
        found.keep(("go.example", "/" + latin(number, 500)), (0, "a"), plan, found.epoch)
        assert len(found.spellings) <= 14
    found.close()
