"""The sockets that `serve` listens on: made by itself or given by systemd, and refusing newcomers at the end.

Each web process has one of its own, among which the system distributes connections. On one that all share,
nearly all connections go to whichever process wakes first. The main process keeps them open: what waits in a
socket's queue is taken by the next process that listens on it.

Closing a listening socket resets every connection that the system has accepted and the server has not, with
its request perhaps sent already. So a process that ends first has the system ignore requests for new
connections. (The client repeats its request after a second, and finds the next server or a closed port.) The
server accepts the connections that there are, and only then is the socket closed.
"""

# see docs/decisions/2026-11-20-processes.md and docs/decisions/2026-11-25-restarts.md
from __future__ import annotations

import ctypes
import errno
import logging
import os
import socket
import struct
import sys
from collections.abc import Iterator, MutableMapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

import click

from app.core.config import PREFIX, Settings
from app.core.running_address import LOCK
from app.core.setting_values import bracketed
from app.operations.processes import hold_lock, wait_until

log = logging.getLogger(__name__)

FIRST_OF_SYSTEMD = 3  # sd_listen_fds(3)
MAX_SOCKETS = 64
BACKLOG = 2048

# a classic BPF program over a TCP segment: nothing of a SYN without ACK, all of anything else
PROGRAM = (
    (0x30, 0, 0, 13),  # load the byte with the flags
    (0x54, 0, 0, 0x12),  # keep SYN and ACK of them
    (0x15, 0, 1, 0x02),  # SYN alone?
    (0x06, 0, 0, 0),  # drop
    (0x06, 0, 0, 0xFFFFFFFF),  # let pass
)
# of Linux; Python's `socket` does not have them. The last two by the level of the option and its number
SO_ATTACH_FILTER, SO_DETACH_FILTER = 26, 27
IP_MINTTL, IPV6_MINHOPCOUNT = (socket.IPPROTO_IP, 21), (socket.IPPROTO_IPV6, 73)
MAX_TTL = 255  # packets start with less: Linux, macOS and Windows with 64 or 128
DESCRIPTORS = Path("/dev/fd")  # on Linux and macOS alike

OTHER_PORT = f"Choose another port: `make run PORT=8001`, `serve --port 8001` or {PREFIX}PORT=8001."
OTHER_HOST = f"Choose another address: {PREFIX}HOST, or `serve --host`."
LISTEN_REFUSALS = {
    errno.EADDRINUSE: ("is in use by another program", OTHER_PORT),
    errno.EACCES: ("needs a right that this user lacks", OTHER_PORT),
    errno.EADDRNOTAVAIL: ("is on no network of this machine", OTHER_HOST),
}


class BindProblem(NamedTuple):
    """Why no server can listen on an address, and what to do about it."""

    reason: str
    advice: str

    def __str__(self) -> str:
        return f"{self.reason}. {self.advice}"


@dataclass(frozen=True)
class Listening:
    """Bound sockets, the lock of the data directory, and who keeps the sockets after this process."""

    sockets: tuple[socket.socket, ...]
    lock: int  # the descriptor that holds it
    is_kept: bool  # by systemd, which listens on them while no `serve` runs

    @property
    def address(self) -> tuple[str, int]:
        host, port, *_ = self.sockets[0].getsockname()
        return host, port

    def of_process(self, number: int) -> socket.socket:
        """The socket of a web process, which are counted from one."""
        return self.sockets[(number - 1) % len(self.sockets)]

    def listen(self) -> None:
        self.leave()  # a `serve` that was killed at its end has left them as they were
        for one in self.sockets:
            one.listen(BACKLOG)

    def leave(self) -> None:
        """Have newcomers wait for the next `serve` on the sockets that systemd keeps."""
        for one in self.sockets if self.is_kept else ():
            welcome_newcomers(one)

    def settle(self, settings: Settings) -> Settings:
        """The settings with the address of the sockets, and with a web process for each of them."""
        host, port = self.address
        processes = max(settings.processes, len(self.sockets))
        if processes != settings.processes:
            log.warning("There are %d web processes, one for each socket.", processes)
        return replace(settings, host=host, port=port, processes=processes)


@contextmanager
def listen_alone(settings: Settings, role: str | None) -> Iterator[Listening]:
    """Locks the data directory, and takes systemd's sockets or makes some. Raises ClickException otherwise.

    Nobody can connect to those that are made here before `listen` is called.
    """
    given = take_sockets_of_systemd(os.environ)
    with ExitStack() as stack:
        lock = stack.enter_context(hold_lock(settings.data_dir / LOCK, shared=role is not None))
        if lock is not None and role is not None:
            lock = stack.enter_context(hold_lock(settings.data_dir / f"serve-{role}.lock"))
        if lock is None:
            raise click.ClickException(f"Waypost is running on {settings.data_dir} already.")
        sockets = given or bind_sockets(settings)
        for one in sockets:
            stack.enter_context(one)
        yield Listening(sockets, lock, is_kept=bool(given))


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


def refusal_to_listen(host: str, port: int) -> BindProblem | None:
    """Why no server can listen there, and what to do; None where it is possible.

    It is tried here because the server would share the port of another listener without an error.
    """
    family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind, proto) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # ended connections do not matter
        try:
            probe.bind(address)
        except OSError as error:
            reason, advice = LISTEN_REFUSALS.get(error.errno or 0, (f"does not work: {error}", OTHER_HOST))
            return BindProblem(f"http://{bracketed(host)}:{port} {reason}", advice)
    return None


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


# --- the end


def refuse_newcomers(listener: socket.socket) -> bool:
    """Refuses new connections on a listening socket. Does nothing on other systems than Linux.

    A packet filter does that where the process has the right to attach one. Elsewhere the socket requires a
    time to live that no client's packets have, for which no right is needed. But connections that are being
    made inherit that option: where this returns true, call `admit_accepted` repeatedly until no connection is
    left to accept.
    """
    if sys.platform != "linux":
        return False
    try:
        attach_filter(listener)
    except OSError:  # an ordinary user lacks the right on some systems
        require_ttl(listener, MAX_TTL)
        return True
    return False


def welcome_newcomers(listener: socket.socket) -> None:
    """Undoes `refuse_newcomers`."""
    if sys.platform == "linux":
        require_ttl(listener, 0)
        with suppress(FileNotFoundError):  # it has no filter
            listener.setsockopt(socket.SOL_SOCKET, SO_DETACH_FILTER, 0)


def attach_filter(listener: socket.socket) -> None:
    code = b"".join(struct.pack("HBBI", *line) for line in PROGRAM)
    buffer = ctypes.create_string_buffer(code)
    filter_ = struct.pack("HP", len(PROGRAM), ctypes.addressof(buffer))
    listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filter_)


def require_ttl(one: socket.socket, ttl: int) -> None:
    """Have the system ignore packets with a smaller time to live."""
    one.setsockopt(*IP_MINTTL, ttl)  # also of a socket of IPv6, which may take both
    if one.family == socket.AF_INET6:
        one.setsockopt(*IPV6_MINHOPCOUNT, ttl)


def admit_accepted(port: int) -> int:
    """Lets packets through to connections that were made while new ones were refused. Returns how many."""
    admitted = 0
    for one in each_connection():
        with suppress(OSError):  # gone meanwhile
            if one.getsockname()[1] == port and one.getsockopt(*IP_MINTTL):
                require_ttl(one, 0)
                admitted += 1
    return admitted


def each_connection() -> Iterator[socket.socket]:
    """Every TCP connection of this process, each until the next one is asked for.

    None is duplicated or closed here: closing any descriptor of one of SQLite's files would give up all locks
    that the process has on that file (fcntl(2)), and a number may pass to such a file at any moment.
    """
    # see docs/decisions/2026-11-29-files-of-sqlite.md
    for path in DESCRIPTORS.iterdir():
        try:
            found = socket.socket(fileno=int(path.name))
        except OSError:  # no socket, or closed meanwhile
            continue
        try:
            with suppress(OSError):  # closed meanwhile
                is_tcp = found.family in {socket.AF_INET, socket.AF_INET6}
                if is_tcp and not found.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
                    yield found
        finally:
            found.detach()
