"""Finds and ends TCP connections of the process by their file descriptors.

Granian neither ends one connection early nor reports idle ones: a streamed answer can only end well (its body
is a channel of bytes without errors). The system can end one: each socket of the process is duplicated,
inspected, and shut down if necessary.

SQLite's files must not be touched here: closing any descriptor of a file, a duplicate too, gives up all locks
that the process has on that file (fcntl(2), "advisory record locking"), in the middle of a transaction.
"""

# see docs/decisions/2026-11-29-files-of-sqlite.md
from __future__ import annotations

import os
import socket
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

DESCRIPTORS = Path("/dev/fd")  # on Linux and macOS alike


def duplicate(number: int, is_meant: Callable[[int], bool]) -> int | None:
    """Duplicate a descriptor if `is_meant` accepts it, else return None.

    The number may pass to another file between the check and the duplication. So the duplicate is checked
    again, and one of another file stays open for good: that file may be SQLite's.
    """
    if not is_meant(number):
        return None
    try:
        copy = os.dup(number)
    except OSError:  # closed meanwhile
        return None
    return copy if is_meant(copy) else None


def is_socket(number: int) -> bool:
    """Whether a descriptor is open and a socket."""
    try:
        return stat.S_ISSOCK(os.fstat(number).st_mode)
    except OSError:  # closed, as that of a finished listing of descriptors
        return False


def each_descriptor() -> Iterator[int]:
    """The number of every open descriptor of this process; some may be closed by the time it is used."""
    return (int(path.name) for path in DESCRIPTORS.iterdir())


def each_socket() -> Iterator[socket.socket]:
    """Every TCP socket of this process, duplicated. The caller closes the duplicates."""
    for number in each_descriptor():
        copy = duplicate(number, is_socket)
        if copy is None:
            continue
        found = socket.socket(fileno=copy)
        if found.family in {socket.AF_INET, socket.AF_INET6} and found.type == socket.SOCK_STREAM:
            yield found
        else:
            found.close()


def end_connections(is_meant: Callable[[tuple[str, str]], bool]) -> int:
    """Shut down every connection whose peer's address and port `is_meant` accepts. Returns how many."""
    ended = 0
    for connection in each_socket():
        with connection, suppress(OSError):  # not connected, or closed meanwhile
            host, port, *_ = connection.getpeername()
            if is_meant((host, str(port))):
                connection.shutdown(socket.SHUT_RDWR)
                ended += 1
    return ended


def abort_connection(environ: Mapping[str, Any]) -> None:
    """End the connection of a request: the client must not take a part of the answer for the whole."""
    peer = (environ["REMOTE_ADDR"], environ["REMOTE_PORT"])
    end_connections(lambda other: other == peer)
