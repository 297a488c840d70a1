"""Makes thousands of small applications cheap: what each would work out anew is kept for the next.

Nothing here changes what a test sees. Both caches reach into private parts of Werkzeug and SQLAlchemy; were
those to change, `tests/test_speed.py` says so, and the tests would be slow without them, not wrong.
"""

from __future__ import annotations

import os
import shutil
from typing import Any

from sqlalchemy import Engine, Select
from werkzeug.routing.rules import Rule

from app.visits import store

MEMORY = "/dev/shm"
MEMORY_BYTES = 4 << 30  # all tests together need about a quarter of it
COMPILED = ("_parts", "_trace", "_converters", "_build", "_build_unknown")


def use_memory_for_files() -> None:
    """Keep temporary files of tests in memory where there is room: they never wait for a disk.

    A killed process loses nothing by it: what it has written is the kernel's already.
    """
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


def cache_compiled_routes() -> None:
    """Let equal routing rules of later applications take what the first one compiled (70 of 84 ms each)."""
    kept: dict[Any, tuple[dict[str, Any], set[str]]] = {}
    compile_anew = Rule.compile

    def compile_once(self: Rule) -> None:
        assert self.map is not None
        of_map = (self.map.host_matching, self.merge_slashes, tuple(self.map.converters.items()))
        key = (self.rule, self.host, self.subdomain, repr(self.defaults), frozenset(self.arguments), of_map)
        if key not in kept:
            compile_anew(self)
            compiled = {name: getattr(self, name) for name in COMPILED}
            for name in ("_build", "_build_unknown"):
                compiled[name] = compiled[name].__func__  # bound to this rule
            kept[key] = compiled, set(self.arguments)
            return
        compiled, arguments = kept[key]
        for name, value in compiled.items():
            bound = value.__get__(self, None) if name.startswith("_build") else value.copy()
            setattr(self, name, bound)
        self.arguments = set(arguments)

    Rule.compile = compile_once  # type: ignore[method-assign]


def cache_compiled_reads() -> None:
    """Let the store of each application take the statements that the first one compiled (10 ms each)."""
    compile_anew = store.Statement
    kept: dict[tuple[int, str], store.Statement] = {}

    def compile_once(select: Select[Any], engine: Engine) -> store.Statement:
        key = (id(select), engine.dialect.name)  # selects are constants of a module
        if key not in kept:
            kept[key] = compile_anew(select, engine)
        return kept[key]

    store.Statement = compile_once  # type: ignore[assignment, misc]


_dialects: dict[str, tuple[Any, dict[Any, Any]]] = {}


def share_compiled_statements(engine: Engine) -> None:
    """Let the engine of one more application take the SQL that engines before it compiled."""
    if engine.dialect.name not in _dialects:
        with engine.connect():  # the dialect learns what kind of server it talks to
            _dialects[engine.dialect.name] = engine.dialect, {}
    engine.dialect, compiled = _dialects[engine.dialect.name]
    engine.update_execution_options(compiled_cache=compiled)
