"""The sockets that `serve` listens on: made by itself, given by systemd, or handed over by its predecessor.

Each web process has one of its own, among which the system distributes connections. On one that all share,
nearly all connections go to whichever process wakes first. The main process keeps them open: what waits in a
socket's queue is taken by the next process that listens on it.
"""

# see docs/decisions/2026-11-25-restarts-without-a-gap.md
from __future__ import annotations

import json
import logging
import os
import socket
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NoReturn, Self

import click

from app.core.config import PREFIX, Settings
from app.core.running_address import LOCK
from app.operations.processes import hold_lock, refusal_to_listen, wait_until

log = logging.getLogger(__name__)

FIRST_OF_SYSTEMD = 3  # sd_listen_fds(3)
MAX_SOCKETS = 64
BACKLOG = 2048


@dataclass(frozen=True)
class Listening:
    """Bound sockets, the locks of the data directory, and who keeps the sockets after this process."""

    sockets: tuple[socket.socket, ...]
    locks: tuple[int, ...]
    is_kept: bool  # by systemd, which listens on them while no `serve` runs
    report: int | None = None  # where a predecessor waits for word that this one is ready
    parent: int | None = None  # that predecessor

    @property
    def descriptors(self) -> tuple[int, ...]:
        return (*(one.fileno() for one in self.sockets), *self.locks)

    @property
    def address(self) -> tuple[str, int]:
        host, port, *_ = self.sockets[0].getsockname()
        return host, port

    def of_process(self, number: int) -> socket.socket:
        """The socket of a web process, which are counted from one."""
        return self.sockets[(number - 1) % len(self.sockets)]

    def listen(self) -> None:
        for one in self.sockets:
            one.listen(BACKLOG)

    def to_text(self, report: int) -> str:
        """What the next generation needs to go on with these descriptors, which it inherits."""
        sockets = [one.fileno() for one in self.sockets]
        found = {"sockets": sockets, "locks": self.locks, "is_kept": self.is_kept}
        return json.dumps({**found, "report": report, "parent": os.getpid()})

    @classmethod
    def from_text(cls, text: str) -> Self:
        """Raises ClickException for a text that no `serve` has written."""
        try:
            found: dict[str, Any] = json.loads(text)
            for number in (*found["sockets"], *found["locks"], found["report"]):
                os.set_inheritable(number, False)
            sockets = tuple(socket.socket(fileno=number) for number in found["sockets"])
            locks, parent = tuple(found["locks"]), int(found["parent"])
            return cls(sockets, locks, bool(found["is_kept"]), found["report"], parent)
        except (ValueError, KeyError, TypeError, OSError) as error:
            raise click.ClickException(f"Only a running `serve` may use this option ({error}).") from None

    def settle(self, settings: Settings) -> Settings:
        """The settings with the address of the sockets, and with a web process for each of them."""
        host, port = self.address
        processes = max(settings.processes, len(self.sockets))
        if processes != settings.processes:
            log.warning("There are %d web processes, one for each socket.", processes)
        return replace(settings, host=host, port=port, processes=processes)

    def tell(self, **found: object) -> None:
        """Tells the predecessor that this one is ready, or why it is not."""
        if self.report is not None:
            with suppress(OSError):  # it is gone
                os.write(self.report, json.dumps(found).encode() + b"\n")


@contextmanager
def listen_alone(settings: Settings, role: str | None) -> Iterator[Listening]:
    """Locks the data directory, and takes systemd's sockets or makes some. Raises ClickException otherwise.

    Nobody can connect to those that are made here before `listen` is called.
    """
    given = take_sockets_of_systemd(os.environ)
    with ExitStack() as stack:
        locks = [stack.enter_context(hold_lock(settings.data_dir / LOCK, shared=role is not None))]
        if role is not None:
            locks.append(stack.enter_context(hold_lock(settings.data_dir / f"serve-{role}.lock")))
        held = tuple(one for one in locks if one is not None)
        if len(held) < len(locks):
            raise click.ClickException(f"Waypost is running on {settings.data_dir} already.")
        sockets = given or bind_sockets(settings)
        for one in sockets:
            stack.enter_context(one)
        yield Listening(sockets, held, is_kept=bool(given))


def bind_sockets(settings: Settings) -> tuple[socket.socket, ...]:
    """One for each web process; only one where the system would not distribute connections among several.

    Raises ClickException where the address can't be had. That is tried first: another program that shares its
    port would let these share it without an error.
    """
    if not wait_until(lambda: refusal_to_listen(settings.host, settings.port) is None):
        refusal = refusal_to_listen(settings.host, settings.port)
        raise click.ClickException(str(refusal or "The port was in use until now: start again."))
    number = settings.processes if sys.platform == "linux" else 1
    try:
        return tuple(bind_socket(settings) for _ in range(number))
    except OSError as error:
        raise click.ClickException(f"{settings.local_url} can't be listened on: {error.strerror}.") from None


def bind_socket(settings: Settings) -> socket.socket:
    family, kind, proto, _, address = socket.getaddrinfo(
        settings.host, settings.port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST
    )[0]
    made = socket.socket(family, kind, proto)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # ended connections do not matter
    if sys.platform == "linux":
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)  # connections inherit it
    made.bind(address)
    return made


def take_sockets_of_systemd(environ: MutableMapping[str, str]) -> tuple[socket.socket, ...]:
    """The sockets that systemd listens on for this process. Its variables are removed.

    Raises ClickException for what is no such socket, and for several that don't share one address.
    """
    pid, count = (environ.pop(name, "") for name in ("LISTEN_PID", "LISTEN_FDS"))
    environ.pop("LISTEN_FDNAMES", None)
    if pid != str(os.getpid()) or not count.isdigit():
        return ()
    with ExitStack() as stack:
        numbers = range(FIRST_OF_SYSTEMD, FIRST_OF_SYSTEMD + min(int(count), MAX_SOCKETS))
        found = tuple(stack.enter_context(take_socket(number)) for number in numbers)
        if len({one.getsockname() for one in found}) > 1:
            raise click.ClickException(
                "systemd gives sockets of several addresses, and Waypost listens on one: in the .socket file,"
                " every ListenStream= must be the same. [::]:8000 takes IPv4, too."
            )
        stack.pop_all()  # they stay open
    return found


def take_socket(number: int) -> socket.socket:
    try:
        found = socket.socket(fileno=number)
        is_right = found.type == socket.SOCK_STREAM and found.family in {socket.AF_INET, socket.AF_INET6}
        if is_right and found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            found.set_inheritable(False)
            found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return found
        found.detach()
    except OSError:
        pass  # no socket: the error below says so
    raise click.ClickException(
        "Waypost can't listen on the socket of systemd: in the .socket file, ListenStream= must be a port, or"
        " an IP address with a port, and Accept= must not be set."
    )


def inherit(text: str, settings: Settings) -> Listening:
    """What the running `serve` hands over. Raises ClickException where the settings want something else."""
    found = Listening.from_text(text)
    if not found.is_kept and found.address != (settings.host, settings.port):
        refuse(found, f"{PREFIX}HOST and {PREFIX}PORT can't change in a reload: restart Waypost.")
    if not is_lock_of(found.locks[0], settings.data_dir):
        refuse(found, f"{PREFIX}DATA_DIR can't change in a reload: restart Waypost.")
    return found


def refuse(listening: Listening, problem: str) -> NoReturn:
    listening.tell(problem=problem)
    for one in listening.sockets:
        one.close()
    raise click.ClickException(problem)


def is_lock_of(descriptor: int, data_dir: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), (data_dir / LOCK).stat())
    except OSError:
        return False
