"""Reload: a running `serve` starts a new one on the same socket, and makes room for it once that is ready.

The process that was started first stays, whatever the number of reloads: a service manager, a container and a
terminal know it by its id. It passes the socket and the locks on, and ends with the generation that serves.
"""

# see docs/decisions/2026-11-25-restarts-without-a-gap.md
from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf
from pathlib import Path

import click
import structlog

from app.core.folders import PROGRAM, ROOT
from app.operations.listening import Listening
from app.operations.processes import HANDOVER, out_of_reach

log = structlog.stdlib.get_logger("waypost")

MAX_MESSAGE = 65_536
ANSWER_SECONDS = 5.0
# for the new one to start after its migrations; and for the old one to end, which takes 20 s for its web
# processes and 16 s for its worker at most
START_SECONDS, END_SECONDS = 120.0, 45.0
MAX_SOCKET_PATH = 100  # of the 104 to 108 bytes that systems have for it
FOLDER = Path("/proc/self/fd")

Say = Callable[[str], None]


@dataclass(frozen=True)
class Program:
    """A command that runs Waypost, and the folder where it does: perhaps of another release than this one."""

    command: tuple[str, ...] = PROGRAM
    folder: str = str(ROOT)


def control_path(data_dir: Path, role: str | None) -> Path:
    return data_dir / (f"serve-{role}.sock" if role else "serve.sock")


@contextmanager
def short_path(path: Path) -> Iterator[str]:
    """A path to the same file that has room in the address of a socket."""
    if len(os.fsencode(path)) <= MAX_SOCKET_PATH or not FOLDER.is_dir():
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield str(FOLDER / str(folder) / path.name)
    finally:
        os.close(folder)


class Generation:
    """A `serve` that goes on with the socket and the locks of the one that starts it."""

    def __init__(self, program: Program, options: list[str], listening: Listening) -> None:
        self.report, report = os.pipe()
        try:
            self.process = subprocess.Popen(
                [*program.command, "serve", *options, "--inherited", listening.to_text(report)],
                cwd=program.folder,
                stdin=subprocess.DEVNULL,
                pass_fds=(*listening.descriptors, report),
            )
        except BaseException:
            os.close(self.report)
            raise
        finally:
            os.close(report)

    def wait_until_ready(self) -> str | None:
        """Waits for its word. Returns why it does not come up, after which it has ended; None if it does."""
        problem: str | None = "It can't be understood."
        try:
            problem = self.read_report(self.report)
        finally:
            os.close(self.report)
            if problem is not None:
                self.end(signal.SIGTERM)
        return problem

    def read_report(self, report: int) -> str | None:
        """Migrations may take as long as they need, everything after them START_SECONDS."""
        deadline = inf
        while time.monotonic() < deadline:
            has_ended = self.process.poll() is not None
            is_there = select.select([report], [], [], 0 if has_ended else 0.1)[0]
            received = os.read(report, MAX_MESSAGE) if is_there else b""
            for line in received.splitlines():
                said = json.loads(line)
                if "is_migrated" not in said:
                    return None if said.get("is_ready") else str(said.get("problem"))
                deadline = time.monotonic() + START_SECONDS
            if has_ended and not received:
                return f"It ended with exit code {self.process.returncode}; the log says why."
        return f"It was not ready within {START_SECONDS:g} s."

    def end(self, number: signal.Signals) -> None:
        """Sends a signal and waits for the end, which is forced when it takes too long."""
        self.process.send_signal(number)
        try:
            self.process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            log.warning("The processes to be replaced did not end in time and are killed.")
            self.process.kill()
            self.process.wait()


class Reloads(threading.Thread):
    """Thread that waits for requests to reload, by SIGHUP or by `serve --reload`, and does one at a time."""

    def __init__(self, path: Path, options: list[str], listening: Listening) -> None:
        super().__init__(name="reloads", daemon=True)
        self.path, self.options, self.listening = path, options, listening
        self.make_room: Callable[[], None] = lambda: None
        self.current: Generation | None = None  # None while this process itself serves
        self.starting: Generation | None = None
        self.woken = threading.Event()
        self.is_ending = False
        self.has_made_room = threading.Event()
        self.asked, self.ask_here = os.pipe()
        os.set_blocking(self.ask_here, False)

    # --- called by the main thread

    def ask(self) -> None:
        """Asks for a reload. For a handler of signals: it never waits."""
        with suppress(BlockingIOError):
            os.write(self.ask_here, b".")

    def end(self) -> None:
        """Has `stay` end the generation that serves. For a handler of signals."""
        self.is_ending = True
        self.woken.set()

    def stay(self) -> int:
        """Waits for the end of the generations that serve instead of this process. Returns an exit code."""
        self.has_made_room.set()
        code = self.wait_for_end()
        if self.starting:
            self.starting.end(signal.SIGTERM)
        if self.current:
            self.current.end(signal.SIGTERM)
        if self.is_alive():
            self.path.unlink(missing_ok=True)
        return code

    def wait_for_end(self) -> int:
        while not self.is_ending:
            current = self.current
            if current is None:
                return 0
            if (code := current.process.poll()) is not None and current is self.current:
                log.error("The web processes and the worker have ended (%s).", code)
                return code if code >= 0 else 1
            self.woken.wait()
            self.woken.clear()
        return 0

    # --- the thread

    def run(self) -> None:
        with suppress(FileNotFoundError):
            self.path.unlink()  # of an earlier run: the locks are ours
        with socket.socket(socket.AF_UNIX) as listener:
            try:
                with short_path(self.path) as address:
                    listener.bind(address)
                self.path.chmod(0o600)
                listener.listen(4)
            except OSError as error:
                log.warning("`serve --reload` can't reach this process, SIGHUP can: %s", error)
            while True:
                self.wait_for_request(listener)

    def wait_for_request(self, listener: socket.socket) -> None:
        try:
            found, _, _ = select.select([listener.fileno(), self.asked], [], [])
            if self.asked in found:
                os.read(self.asked, MAX_MESSAGE)
                self.reload(Program(), lambda _text: None)
            if listener.fileno() in found:
                with listener.accept()[0] as line:
                    self.answer(line)
        except Exception:  # the system ends what this thread has started when the thread ends
            log.exception("a request to reload failed")
            time.sleep(1)

    def answer(self, line: socket.socket) -> None:
        line.settimeout(ANSWER_SECONDS)
        asked = json.loads(line.makefile("rb").readline(MAX_MESSAGE))
        program = Program(tuple(map(str, asked["command"])), str(asked["folder"]))

        def say(text: str) -> None:
            with suppress(OSError):  # who asked has gone: the reload goes on
                line.sendall(json.dumps({"text": text}).encode() + b"\n")

        problem = self.reload(program, say)
        with suppress(OSError):
            line.sendall(json.dumps({"problem": problem}).encode() + b"\n")

    def reload(self, program: Program, say: Say) -> str | None:
        """Has a new generation take over. Returns why it did not; the old one then goes on."""
        log.info("reload", program=program.folder)
        say("The new processes are starting.")
        try:
            new = self.starting = Generation(program, self.options, self.listening)
            problem = new.wait_until_ready()
        except OSError as error:
            problem = str(error)
        self.starting = None
        if problem is not None:
            log.error("The new processes did not come up; the old ones go on. %s", problem)
            return problem
        say("The new processes are ready. The old ones answer what they have begun.")
        self.replace_by(new)
        log.info("reloaded", program=program.folder)
        say("The old processes have ended.")
        return None

    def replace_by(self, new: Generation) -> None:
        old, self.current = self.current, new
        threading.Thread(target=self.watch, args=(new,), daemon=True).start()
        if old is None:
            self.make_room()
            self.has_made_room.wait()
        else:
            old.end(HANDOVER)

    def watch(self, generation: Generation) -> None:
        generation.process.wait()
        self.woken.set()


def begin(reloads: Reloads) -> None:
    with out_of_reach():
        reloads.start()


def reload_running(data_dir: Path, roles: tuple[str | None, ...]) -> None:
    """Asks each `serve` of this data directory to reload with this program. Raises ClickException."""
    found = 0
    for role in roles:
        try:
            with socket.socket(socket.AF_UNIX) as line, short_path(control_path(data_dir, role)) as address:
                line.connect(address)
                found += 1
                ask(line, role)
        except (FileNotFoundError, ConnectionRefusedError):
            continue
    if not found:
        raise click.ClickException(f"No `serve` that can be reloaded runs on {data_dir}.")


def ask(line: socket.socket, role: str | None) -> None:
    program = Program()
    line.sendall(json.dumps({"command": program.command, "folder": program.folder}).encode() + b"\n")
    about = f"{role}: " if role else ""
    for received in line.makefile("rb"):
        said = json.loads(received)
        if "text" in said:
            click.echo(about + said["text"])
        elif said.get("problem"):
            raise click.ClickException(
                f"{about}the new processes did not come up, and the old ones go on. {said['problem']}"
            )
        else:
            return
    raise click.ClickException(f"{about}`serve` ended before it could answer; see its log.")
