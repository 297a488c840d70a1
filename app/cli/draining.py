"""How does a process stop taking connections without cutting off those that are just being made?

Closing a listening socket resets every connection that the system has accepted and the server has not, with
its request perhaps sent already. So first the system is told to ignore who asks for a new connection
(whoever does, asks again after a second, and finds the next server or a closed port); the server takes in
what is there, and only then is the socket closed.
"""

from __future__ import annotations

import ctypes
import socket
import struct
import sys
from collections.abc import Iterator

from app.http_server.connections import each_socket

# a classic BPF program over a TCP segment: nothing of a SYN without ACK, all of anything else
PROGRAM = (
    (0x30, 0, 0, 13),  # load the byte with the flags
    (0x54, 0, 0, 0x12),  # keep SYN and ACK of them
    (0x15, 0, 1, 0x02),  # SYN alone?
    (0x06, 0, 0, 0),  # drop
    (0x06, 0, 0, 0xFFFFFFFF),  # let pass
)
SO_ATTACH_FILTER = 26


def refuse_newcomers(port: int) -> None:
    """Take no new connection on this process's listening sockets. Does nothing but on Linux."""
    if sys.platform != "linux":
        return
    code = b"".join(struct.pack("HBBI", *line) for line in PROGRAM)
    buffer = ctypes.create_string_buffer(code)
    filter_ = struct.pack("HP", len(PROGRAM), ctypes.addressof(buffer))
    for listener in listeners(port):
        with listener:
            listener.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, filter_)


def listeners(port: int) -> Iterator[socket.socket]:
    """Every listening socket of this process on a port, each by a descriptor of our own."""
    for each in each_socket():
        if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) and each.getsockname()[1] == port:
            yield each
        else:
            each.close()
