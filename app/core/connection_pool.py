"""Connection pool that counts: how often a connection was asked for, how long that took, and what failed."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any
from weakref import WeakSet

from sqlalchemy import Engine, QueuePool, event
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import IntegrityError
from sqlalchemy.exc import TimeoutError as PoolTimeoutError
from sqlalchemy.pool import PoolProxiedConnection

from app.core.counters import counters

_pools: WeakSet[CountingPool] = WeakSet()


class CountingPool(QueuePool):
    """The pool of an engine for pages or for the worker's threads."""

    # SQLAlchemy names its logger after the module, and its own are quiet by default
    __module__ = QueuePool.__module__

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.most = self.size() + max(0, self._max_overflow)
        _pools.add(self)
        if options.get("_dispatch") is None:  # a pool that takes another one's place has its listeners
            event.listen(self, "checkout", lambda *_: note_use())
            event.listen(self, "checkin", lambda *_: note_use(-1))  # it is put back only after this

    def connect(self) -> PoolProxiedConnection:
        started = time.perf_counter_ns()
        try:
            return super().connect()
        except PoolTimeoutError:
            counters.add("database timeouts")
            raise
        finally:
            counters.add("database checkouts")
            counters.add("database wait ns", time.perf_counter_ns() - started)


def note_use(more: int = 0) -> None:
    """Store how many connections of all pools of this process are in use."""
    in_use = at_most = 0
    for pool in list(_pools):
        in_use += max(0, pool.checkedout())  # below 0 where a disposed pool's last connections came back
        at_most += pool.most
    counters.set("connections in use", in_use + more)
    counters.set("connections at most", at_most)


def count_errors(engine: Engine, is_outage: Callable[[BaseException], bool]) -> None:
    """Count the errors of an engine: the database gave no answer, or refused a statement.

    What a constraint refuses is left out: that is how two requests for one alias are told apart.
    """

    @event.listens_for(engine, "handle_error")
    def count(context: ExceptionContext) -> None:
        error = context.sqlalchemy_exception or context.original_exception
        if is_outage(error):
            counters.add("database errors outage")
        elif not isinstance(context.sqlalchemy_exception, IntegrityError):
            counters.add("database errors statement")
