"""Finds and ends TCP connections of the process by their file descriptors.

Granian can neither end one connection early nor say which are idle. The system can: every socket of the
process is duplicated to a descriptor of our own, inspected, and shut down if necessary.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

DESCRIPTORS = Path("/dev/fd")  # on Linux and macOS alike


def each_socket() -> Iterator[socket.socket]:
    """Every TCP socket of this process, by a descriptor of our own that the caller closes."""
    for path in DESCRIPTORS.iterdir():
        try:
            number = os.dup(int(path.name))
        except OSError:  # closed meanwhile, as the descriptor of the listing itself
            continue
        try:
            copy = socket.socket(fileno=number)
        except OSError:  # not a socket
            os.close(number)
            continue
        if copy.family in {socket.AF_INET, socket.AF_INET6} and copy.type == socket.SOCK_STREAM:
            yield copy
        else:
            copy.close()


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
