"""A real Redis for the tests, started by the test that asks for it."""

from __future__ import annotations

import shutil
import signal
import subprocess

import pytest
from redis import RedisError

from app.core.redis_client import ping
from tests.server import free_port, wait_for


class RedisServer:
    """One Redis on a port of its own, which can be stopped, frozen and started again. It stores nothing."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"redis://127.0.0.1:{self.port}/0"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> RedisServer:
        if shutil.which("redis-server") is None:
            pytest.skip("no redis-server here")
        command = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", ""]
        self._process = subprocess.Popen([*command, "--daemonize", "no"], stdout=subprocess.DEVNULL)
        wait_for(self.answers, "Redis")
        return self

    def stop(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
            self._process.wait()
            self._process = None

    def freeze(self) -> None:
        """It takes connections, as the system does that for it, and answers nothing."""
        self._signal(signal.SIGSTOP)

    def thaw(self) -> None:
        self._signal(signal.SIGCONT)

    def answers(self) -> bool:
        try:
            ping(self.url)
        except RedisError:
            return False
        return True

    def _signal(self, number: int) -> None:
        assert self._process is not None
        self._process.send_signal(number)
