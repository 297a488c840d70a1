"""Granian's internals that `app/http_server/granian_worker.py` replaces are as it expects them.

Each of these fails when an update of granian moves something. Then read its `server/mp.py`, `_futures.py` and
`src/callbacks.rs` again before changing the version in requirements.txt.
"""

from __future__ import annotations

import inspect
import re
import socket
from asyncio import AbstractEventLoop

import granian
import granian._futures
import granian._signals
import granian.server.mp
from granian._granian import CallbackScheduler, SocketHolder
from granian.server.mp import MPServer, WorkerProcess

KNOWN = "2.8.7"


def test_the_version_is_the_one_that_was_read() -> None:
    assert granian.__version__ == KNOWN, "granian has changed: read its internals again, then change KNOWN"


def test_the_worker_takes_its_scheduler_and_its_signal_by_these_names() -> None:
    source = inspect.getsource(MPServer._spawn_asgi_worker)
    assert "scheduler = _new_cbscheduler(loop, wcallback, impl_asyncio=" in source
    assert "from granian._signals import set_loop_signals" in source
    assert "shutdown_event = set_loop_signals(loop)" in source
    assert "serve(scheduler, loop, shutdown_event)" in source
    assert granian.server.mp._new_cbscheduler is granian._futures._new_cbscheduler


def test_both_workers_take_the_same_arguments() -> None:
    """Granian's server is started for WSGI but runs our ASGI worker: for ASGI it refuses several threads."""
    asgi, wsgi = (
        inspect.signature(inspect.unwrap(spawn)).parameters
        for spawn in (MPServer._spawn_asgi_worker, MPServer._spawn_wsgi_worker)
    )
    assert list(asgi) == list(wsgi)


def test_the_server_takes_its_sockets_from_us() -> None:
    """`app/cli/web.py` gives each web process its socket, and SIGHUP has no handler."""
    given = inspect.getsource(WorkerProcess.wrap_target)
    assert re.search(r"worker_id,\s+process_name,\s+callback_loader,\s+sock,\s+ipc,", given)
    assert "sock, _sso = sock" in given
    assert "self._init_shared_socket()" in inspect.getsource(MPServer.startup)
    assert "if reload_handler is not None" in inspect.getsource(granian._signals.set_main_signals)
    assert "set_main_signals(self.signal_handler_interrupt, self.signal_handler_reload)" in inspect.getsource(
        MPServer.startup
    )
    assert "idx + 1,\n                self.process_name," in inspect.getsource(MPServer._spawn_worker)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        holder = SocketHolder(listener.fileno(), False, 128)  # type: ignore[call-arg]
        assert (holder.get_fd(), holder.is_uds()) == (listener.fileno(), False)


def test_the_scheduler_calls_what_it_is_given(event_loop_of_test: AbstractEventLoop) -> None:
    scheduler = CallbackScheduler(event_loop_of_test, None, None, None, None)  # type: ignore[call-arg]
    scheduler._schedule_fn = print  # type: ignore[attr-defined]
