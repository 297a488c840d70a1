"""Runs granian's ASGI worker with a scheduler and a stop signal of our own.

Granian hands each ASGI request to its event loop thread, which halves the rate of redirects. Its scheduler
calls `_schedule_fn` in granian's own Python thread first; ours answers hot redirects right there. Granian
offers no setting for this, so two of its internals are replaced. tests/http_server/test_granian_worker.py
fails when a new version of granian no longer has them.
"""

from __future__ import annotations

from asyncio import AbstractEventLoop
from collections.abc import Callable
from typing import Any, Protocol, cast

import granian._signals
import granian.server.mp
from granian._granian import CallbackScheduler, WorkerSignal
from granian.server.mp import MPServer

Message = dict[str, Any]


class AsgiProtocol(Protocol):
    """The connection's side of one request. `send` never blocks: its result is awaited only for streamed
    bodies, which must not outrun the client. It can be called from any thread."""

    def receive(self) -> Any: ...

    def send(self, message: Message) -> Any: ...


class Watcher(Protocol):
    """Granian's handle of one request. `err` answers 500 if there was no answer, and logs."""

    @property
    def scope(self) -> Message: ...

    @property
    def proto(self) -> AsgiProtocol: ...

    def err(self, error: BaseException) -> None: ...


Schedule = Callable[[Watcher], None]


def run_worker(
    arguments: tuple[Any, ...],
    make_schedule: Callable[[AbstractEventLoop], Schedule],
    make_stop_signal: Callable[[], WorkerSignal],
) -> None:
    """Serve until the stop signal is set and every connection has ended.

    `arguments` are those that granian passes to a worker process. The function that `make_schedule` returns
    is called once for each request, in granian's Python thread. It must not raise and must not block.
    """

    def new_scheduler(loop: AbstractEventLoop, callback: Any, **_: Any) -> CallbackScheduler:
        # the type stubs lack what is used here
        scheduler: Any = CallbackScheduler(loop, callback, None, None, None)  # type: ignore[call-arg]
        scheduler._schedule_fn = make_schedule(loop)  # noqa: SLF001
        return cast("CallbackScheduler", scheduler)

    vars(granian.server.mp)["_new_cbscheduler"] = new_scheduler
    granian._signals.set_loop_signals = lambda _loop: make_stop_signal()  # noqa: SLF001
    MPServer._spawn_asgi_worker(*arguments)  # noqa: SLF001
