"""Caches what each test's application would make again: routes, SQL and store reads; spares collections,
and keeps the process's priority.

Nothing here changes what a test sees. The caches use private parts of Werkzeug and SQLAlchemy; without them
the tests are slow, not wrong.
"""

from __future__ import annotations

import gc
import os
import shutil
import threading
from copy import copy
from typing import Any, ClassVar

from flask import Flask
from sqlalchemy import Dialect, Engine
from werkzeug.routing import Map, Rule, RuleFactory

from app.redirects import reader as redirects_reader
from app.redirects.reader import Query, Statement

MEMORY = "/dev/shm"
MEMORY_BYTES = 4 << 30  # all tests together need about a quarter of it
FLAGS = ("subdomain", "host", "build_only", "strict_slashes", "merge_slashes", "provide_automatic_options")


def use_memory_for_files() -> None:
    """Keep temporary files of tests in memory if there is room: they never wait for a disk.

    A killed process loses nothing by it: the kernel already has what was written.
    """
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free > MEMORY_BYTES:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", MEMORY)


def spare_collections() -> None:
    """Leave modules and collected tests out of garbage collections (saves a third of the time of an application).

    They are half a million objects that live as long as the process. Until they are there, nothing is collected.
    """
    gc.enable()
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


def keep_priority() -> None:
    """Let no command that a test runs in this process lower its priority.

    An ordinary user could never raise it again, and all later tests would be slow beside anything else. Other
    threads lower their own, and child processes theirs.
    """
    lower, us = os.nice, threading.get_native_id()

    def lower_others(steps: int) -> int:
        is_ours = threading.get_native_id() == us
        return os.getpriority(os.PRIO_PROCESS, 0) if is_ours else lower(steps)

    os.nice = lower_others


class SharedMap(Map):
    """A map of routes. Applications with equal rules share the rules that the first of them has bound."""

    known: ClassVar[dict[Any, Map]] = {}

    def __init__(self, *arguments: Any, **options: Any) -> None:
        self.own: list[Rule] = []
        super().__init__(*arguments, **options)

    def add(self, rulefactory: RuleFactory) -> None:
        self.own += rulefactory.get_rules(self)
        self._remap = True

    def update(self) -> None:
        if self._remap:
            bound = self.find_bound()
            self._matcher, self._rules_by_endpoint = bound._matcher, bound._rules_by_endpoint
            self._remap = False

    def find_bound(self) -> Map:
        options = {name: getattr(self, name) for name in ("strict_slashes", "merge_slashes", "host_matching")}
        key = (*options.values(), *self.converters.items(), *map(identify, self.own))
        if key not in self.known:
            self.known[key] = found = Map(converters=self.converters, **options)
            for rule in self.own:
                own = copy(rule)
                own.arguments = set(rule.arguments)
                found.add(own)
            found.update()
        return self.known[key]


def identify(rule: Rule) -> tuple[Any, ...]:
    flags = [getattr(rule, name, None) for name in FLAGS]
    return rule.rule, rule.endpoint, frozenset(rule.methods or ()), repr(rule.defaults), *flags


def share_bound_routes() -> None:
    """Bind equal routes once for all applications (saves 70 of 84 ms each)."""
    Flask.url_map_class = SharedMap


def cache_compiled_reads() -> None:
    """Reuse the compiled statements of the first application's store in later ones (saves 10 ms each)."""
    kept: dict[tuple[int, str], Statement] = {}

    def compile_once(select: Query, dialect: Dialect) -> Statement:
        key = (id(select), dialect.name)  # selects are constants of a module
        if key not in kept:
            kept[key] = Statement(select, dialect)
        return kept[key]

    vars(redirects_reader)["Statement"] = compile_once


_dialects: dict[str, tuple[Any, dict[Any, Any]]] = {}


def share_compiled_statements(engine: Engine) -> None:
    """Let the engine of a further application reuse the SQL that earlier engines compiled."""
    if engine.dialect.name not in _dialects:
        with engine.connect():  # the dialect detects the server's version
            _dialects[engine.dialect.name] = engine.dialect, {}
    engine.dialect, compiled = _dialects[engine.dialect.name]
    engine.update_execution_options(compiled_cache=compiled)
