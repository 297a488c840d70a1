"""Starts, stops and kills the real server for tests."""

from __future__ import annotations

import http.client
import os
import random
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from tests.commands import Command, run_command

ROOT = Path(__file__).resolve().parent.parent
SECONDS = 90
BROWSER = (
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/130.0.0.0 Safari/537.36"
)

Found = TypeVar("Found")


def wait_for(condition: Callable[[], Found], what: str, seconds: float = SECONDS) -> Found:
    """Wait for the first true value of `condition`. Fails after `seconds` with a message about `what`."""
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not come within {seconds} s")
        time.sleep(0.05)
    return found


PROGRAM = (sys.executable, "-m", "flask", "--app", "wsgi")
# below the kernel's ephemeral ports, so that a restarted server finds its port free
PORTS = range(15_000, 32_000)


def free_port() -> int:
    while True:
        port = random.choice(PORTS)
        with socket.socket() as probe, suppress(OSError):
            probe.bind(("127.0.0.1", port))
            return port


class Server:
    """`serve` as an owner starts it, with a data directory of its own, on a free port."""

    is_forked = False  # of a process that has imported the application: tests do so, to start in a second

    def __init__(self, data_dir: Path, **settings: str) -> None:
        self.data_dir = data_dir
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.output = data_dir.with_name(f"{data_dir.name}.log")
        self.environ = {k: v for k, v in os.environ.items() if not k.startswith("WAYPOST_")} | {
            "WAYPOST_DATA_DIR": str(data_dir),
            "WAYPOST_PORT": str(self.port),
            "WAYPOST_PROCESSES": "1",  # tests may override it
            **{f"WAYPOST_{name}": value for name, value in settings.items()},
        }
        self.arguments: tuple[str, ...] = ("serve",)
        self.prefix: tuple[str, ...] = ()  # a command that runs it
        self.program = PROGRAM
        self.folder = ROOT
        self.descriptors: tuple[int, ...] = ()  # that it inherits
        self.process: subprocess.Popen[bytes] | Command | None = None

    def flask(self, *arguments: str, stdin: str = "") -> str:
        """Run a command of the application on the same data, and return its output."""
        done = run_command(arguments, ROOT, self.environ, stdin.encode())
        assert done.returncode == 0, f"{arguments} failed: {done.stderr.decode()}"
        return done.stdout.decode()

    def start(self) -> Server:
        self.begin()
        self.wait_until_ready()
        return self

    def begin(self) -> None:
        """Start it, without waiting until it is ready."""
        self.output.write_bytes(b"")
        if self.is_forked and not self.is_told_how():
            files = [Path(os.devnull), self.output, self.output]
            self.process = Command(self.arguments, self.folder, self.environ, files)
            return
        with self.output.open("ab") as log:
            self.process = subprocess.Popen(
                [*self.prefix, *self.program, *self.arguments],
                cwd=self.folder,
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
                pass_fds=self.descriptors,
            )

    def is_told_how(self) -> bool:
        """Whether its process must be one of its own: of another program, or with what Python reads as it starts."""
        others = (self.program, self.folder) != (PROGRAM, ROOT) or "PYTHONPATH" in self.environ
        return others or bool(self.prefix or self.descriptors)

    def wait_until_ready(self) -> None:
        try:
            wait_for(self.is_ready, "a ready server")
        except AssertionError as error:
            self.kill()
            raise AssertionError(f"{error}; it wrote:\n{self.written()}") from None

    def written(self) -> str:
        return self.output.read_text(errors="replace")

    def is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, f"the server ended:\n{self.written()}"
        try:
            return self.status("/readyz") == 200
        except (OSError, http.client.HTTPException):
            return False

    def status(self, path: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            connection.request("GET", path)
            return connection.getresponse().status
        finally:
            connection.close()

    def setup_address(self) -> str:
        """The one-time address that a server without accounts prints."""
        found: list[str] = wait_for(
            lambda: re.findall(r"http://\S*/setup\S*", self.written()), "the set-up address"
        )
        return found[0]

    def stop(self) -> None:
        """Stop the server as a service manager would, and fail if it has to be killed."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(SECONDS)
            except subprocess.TimeoutExpired:
                self.kill()
                raise AssertionError(f"SIGTERM did not end the server:\n{self.written()}") from None

    def kill(self) -> None:
        """`kill -9` every process of the server at once."""
        if self.process:
            with suppress(ProcessLookupError):
                os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait(SECONDS)
