"""A real PostgreSQL of one test's own, which can be frozen: the session's cluster is shared by all tests."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
from pathlib import Path

import psycopg

from tests.postgres import QUICK, USER, make_cluster, run_as
from tests.server import free_port, wait_for

STOP_SECONDS = 30


class PostgresServer:
    """One PostgreSQL on a port of its own. `url` is reached by TCP, as on another machine."""

    def __init__(self) -> None:
        self.directory = Path(
            tempfile.mkdtemp(prefix="waypost-own-pg-", dir=os.environ.get("PYTEST_DEBUG_TEMPROOT", "/tmp"))
        )  # a socket's path must be short
        self.port = free_port()
        self.url = f"postgresql://{USER}@127.0.0.1:{self.port}/waypost"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> PostgresServer:
        command, uid = make_cluster(self.directory / "data")
        settings = (*QUICK[:-1], "listen_addresses=127.0.0.1", f"port={self.port}")
        options = [
            part
            for setting in (*settings, f"unix_socket_directories={self.directory}")
            for part in ("-c", setting)
        ]
        with (self.directory / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*command, *options],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                cwd="/",
                **run_as(uid),
            )  # type: ignore[call-overload]
        wait_for(self.answers, "PostgreSQL")
        with self.connect("postgres") as connection:
            connection.execute("CREATE DATABASE waypost")
        return self

    def connect(self, database: str = "waypost") -> psycopg.Connection:
        """A connection of the test itself."""
        address = f"postgresql://{USER}@127.0.0.1:{self.port}/{database}"
        return psycopg.connect(address, autocommit=True, connect_timeout=5)

    def answers(self) -> bool:
        assert self._process is not None
        assert self._process.poll() is None, (self.directory / "log").read_text()
        try:
            self.connect("postgres").close()
        except psycopg.OperationalError:
            return False
        return True

    def freeze(self) -> None:
        """Every process stands still: the system goes on to take connections and bytes, and nothing answers."""
        for pid in self._processes():
            os.kill(pid, signal.SIGSTOP)

    def thaw(self) -> None:
        for pid in self._processes():
            os.kill(pid, signal.SIGCONT)

    def stop(self) -> None:
        if self._process is not None:
            self.thaw()
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(STOP_SECONDS)
            self._process = None
        shutil.rmtree(self.directory, ignore_errors=True)

    def _processes(self) -> list[int]:
        """The postmaster, which starts no others once it stands still, and its children."""
        assert self._process is not None
        pid = self._process.pid
        if self._process.poll() is None:
            os.kill(pid, signal.SIGSTOP)
        children = Path(f"/proc/{pid}/task/{pid}/children")
        return [*map(int, children.read_text().split()), pid] if children.exists() else [pid]
