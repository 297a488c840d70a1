"""Caches: every cache of the application has a bound in bytes, or known bounds of its keys.

A cache that is not listed fails a test: say here what bounds it first. Where visitors choose keys or values,
that is a number of bytes.
"""

from __future__ import annotations

import ast
import importlib
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.analytics import interning
from app.core.caches import max_bytes_by_cache
from app.core.config import Settings
from app.redirects import cache as plans
from app.redirects.compiled_link import CompiledLink
from app.redirects.context import encode_utm

APP = Path(__file__).resolve().parents[2] / "app"
MIB = 1024 * 1024
CODE = "its keys stand in the code"

SHORT = "what one answer, one job or one transaction needs"

# decorated functions, and containers that a module or an object fills: what bounds each
BOUNDS: dict[str, str | int] = {
    "accounts/hashing.py self.queues": "a queue of MAX_WAITING jobs for each priority",
    "accounts/keys.py _made": 1000 * 12_000,  # a key and its user; all their texts are of bounded columns
    "accounts/keys.py _tried": 1000 * 250,
    "accounts/passwords.py common_passwords": CODE,
    "accounts/passwords.py _nobodys": CODE,
    "openapi/document.py of_any_site": CODE,
    "api/related_rows.py self.found": SHORT,
    "core/machine.py machine_id": "eight data directories",
    "core/wakeups.py self.topics": CODE,
    "core/wakeups.py topic_by_table": CODE,
    "core/postgresql.py connection_class": CODE,
    "rate_limit/limiter.py self.ends": 10_000 * 250,
    "rate_limit/storages.py of_psycopg": CODE,
    "audit/failures.py self.counts": 3 * 50 * 2000,
    "audit/failures.py self.ends": 3 * 50 * 2000,
    "core/caches.py max_bytes_by_cache": CODE,
    "operations/demo/visits.py sums": CODE,
    "analytics/params.py NO_WORDS": CODE,
    "analytics/params.py known_zones": CODE,
    "analytics/tally.py self.visited": SHORT,
    "analytics/clickhouse/client.py clickhouse_of": "one address: CLICKS_URL",
    "analytics/clickhouse/client.py self._clients": CODE,
    "analytics/ingest.py self._synced": "segments of the journal that are there",
    "analytics/tally.py self._left": SHORT,
    "analytics/tally.py self._said": SHORT,
    "analytics/interning.py self._fresh": SHORT,
    "analytics/interning.py self._known": 64 * MIB,
    "analytics/interning.py self._looked_at": SHORT,
    "core/file_watch.py self.loops": CODE,
    "analytics/interning.py self.described": "texts of `_known`, which count for both",
    "dashboard/shared/list_params.py NO_COLUMNS": CODE,
    "dashboard/shared/assets.py assets": CODE,
    "dashboard/shared/assets.py version": CODE,
    "dashboard/shared/assets.py drawings": CODE,
    "dashboard/shared/assets.py icon": CODE,
    "domains/hosts.py glance": 8192 * 1500,
    "core/error_boundary.py _uncounted": CODE,
    "core/error_boundary.py self._failing": 10_000 * 500,  # an item's id or a server's name
    "core/error_boundary.py self._said": 10_000 * 1500,  # the same with the error's text
    "http_server/answers.py self.tasks": "at most MAX_STREAMS answers",
    "http_server/pauses.py self.waiting": "at most MAX_WAITING answers",
    "http_server/pools.py self.begun": "one for each thread of a pool",
    "http_server/pools.py self.running": "networks of the jobs that run, one a thread",
    "http_server/pools.py self.waiting": "at most `queue` jobs",
    "http_server/refusals.py self.silent_until": CODE,
    "http_server/request_bodies.py self.readings": "bodies that are read, whose number and bytes are bounded there",
    "http_server/request_bodies.py self.tasks": "one for each of `readings`",
    "jobs/fair_pool.py self.asked": SHORT,
    "jobs/fair_pool.py self.owners": SHORT,
    "jobs/subprocesses.py self.running": "one for each of a fixed number of processes",
    "jobs/schedule.py self.running": "one for each duty",
    "journal/codec.py LIMIT": CODE,
    "journal/writer.py self._lines": 256 * 1024 * 3 // 2,  # lines, and what each takes as an object
    "i18n/languages.py bare_application": CODE,
    "i18n/languages.py locale_of": CODE,
    "i18n/__init__.py dated_in": 5000 * 1000,
    "i18n/__init__.py digits_in": 5000 * 500,
    "links/aliases.py statements": CODE,
    "core/logging.py self.said": 500 * 1100,
    "net/dial.py trusted": CODE,
    "net/networks.py mask_address": 48 * 800,
    "notifications/handler_queue.py self.waiting": "deliveries that are held, whose number is bounded there",
    "notifications/mail.py templates": CODE,
    "notifications/shares.py self.hosts": SHORT,
    "notifications/shares.py self.workspaces": SHORT,
    "notifications/sender.py self.held": "as many as queues hold",
    "notifications/sender.py self.queues": "one for each handler with deliveries that are held",
    "i18n/languages.py translations": CODE,
    "i18n/__init__.py messages_in": CODE,
    "i18n/languages.py every_language": CODE,
    "i18n/languages.py dashboard_languages": CODE,
    "notifications/transport.py all_transports": CODE,
    "accounts/access.py query_of": CODE,
    "accounts/access.py columns_query_of": CODE,
    "core/database.py read_columns": CODE,
    "input/listing.py columns_by_ids": CODE,
    "links/clicks.py self.late": 100_000 * 100,  # ids of links, as a set has them
    "analytics/sharing/services.py _uses": "numbers of addresses that exist, at most MAX_COUNTED",
    "analytics/sharing/services.py _written": "the same",
    "geo/names.py continent_codes": CODE,
    "geo/names.py country_codes": CODE,
    "geo/names.py self.tables": "names in each language of the dashboard",
    "i18n/__init__.py percent_in": 200 * 500,
    "i18n/__init__.py percent_pattern": CODE,
    "import_export/rows.py self.after": SHORT,
    "import_export/rows.py self.beside": SHORT,
    "jobs/favicons.py self.running": "one for each thread that fetches",
    "links/destination.py self.own": SHORT,
    "links/language_names.py tags_by_name": CODE,
    "pixels/firing.py program_of": CODE,
    "pixels/provider.py all_providers": CODE,
    "public/cards.py read_size": 1000 * 300,  # names of stored pictures
    "public/answers.py plain_page": "names of pages, in each language",
    "public/answers.py sign": CODE,
    "operations/bounded_checks.py self.found": CODE,
    "operations/bounded_checks.py self.runs": CODE,
    "operations/revisions.py read_migrations": CODE,
    "public/csp.py digest_of": CODE,
    "core/encryption.py fernet": CODE,
    "core/secret_keys/ring.py derive": CODE,
    "journal/daily_salt.py keyed": "one key",
    "notifications/transport.py chosen_transports": CODE,
    "events/feed/addresses.py self.moves": SHORT,
    "events/push/pusher.py self.seen": "one for each handler with a place in the feed",
    "input/data.py self._last": SHORT,
    "input/data.py self._members": SHORT,
    "input/data.py self._next": SHORT,
    "import_export/readers/csv.py self.given_back": SHORT,
    "import_export/runs.py self.before": SHORT,
    "import_export/rows.py form_for": 64 * 64_000,  # a class of at most 40 fields
    "redirects/bots.py known_bot_name": 4096 * 1000,
    "redirects/cache.py self.old": 24 * MIB,
    "redirects/cache.py self.spellings": 8 * MIB,
    "redirects/cache.py self.young": 24 * MIB,
    "redirects/user_agent.py known_device": 4096 * 4500,
    "redirects/user_agent.py matcher": CODE,
    "redirects/limits.py self.waiting": "one for each thread that waits",
    "redirects/context.py encode_browser": 2048 * 8000,
    "redirects/context.py encode_location": 4096 * 1600,
    "redirects/context.py encode_utm": 1024 * 2800,
    "redirects/referrer.py referrer": 2048 * 2000,
    "links/targeting.py normalize": 4096 * 1500,
    "links/targeting.py ranges": 1024 * 8000,
    "redirects/targets.py self.indexes": "pairs of one link, at most 100; they count in its plan",
    "redirects/visitor.py languages": 1024 * 4500,
}


def is_cache(node: ast.expr) -> bool:
    """`@cache`, `@lru_cache(…)`, `@cached_property`, `@cache_texts(…)`."""
    call = node.func if isinstance(node, ast.Call) else node
    name = call.attr if isinstance(call, ast.Attribute) else getattr(call, "id", "")
    return name in {"cache", "lru_cache", "cache_texts"}


EMPTY_MAKERS = {"dict", "set", "OrderedDict", "defaultdict", "deque", "WeakValueDictionary", "Counter"}


def is_empty_container(value: ast.expr | None) -> bool:
    if isinstance(value, ast.Dict):
        return not value.keys
    if isinstance(value, ast.Call):
        made = value.func.value if isinstance(value.func, ast.Subscript) else value.func
        return getattr(made, "id", "") in EMPTY_MAKERS and not any(
            isinstance(one, ast.Starred) for one in value.args
        )
    return False


def caches_of(path: Path) -> Iterator[str]:
    """Decorated functions, and empty containers that a module or an object keeps to fill them later."""
    tree = ast.parse(path.read_text())
    where = path.relative_to(APP).as_posix()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and any(map(is_cache, node.decorator_list)):
            yield f"{where} {node.name}"
        elif isinstance(node, ast.Assign | ast.AnnAssign) and is_empty_container(node.value):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                is_own = isinstance(target, ast.Attribute) and getattr(target.value, "id", "") == "self"
                if is_own or node in tree.body:
                    yield f"{where} {ast.unparse(target)}"


def test_every_cache_is_listed() -> None:
    found = {one for path in sorted(APP.rglob("*.py")) for one in caches_of(path)}
    assert found - BOUNDS.keys() == set(), (
        "say in BOUNDS what bounds these, in bytes where strangers fill them"
    )
    assert BOUNDS.keys() - found == set(), "these are no more"


def test_all_caches_together_are_small() -> None:
    """All caches of a web process take less than half of the 512 MiB that it may take."""
    assert sum(one for one in BOUNDS.values() if isinstance(one, int)) < 256 * MIB


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
