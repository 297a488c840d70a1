"""Stops taking new connections without resetting those that are just being made.

Closing a listening socket resets every connection that the system has accepted and the server has not, with
its request perhaps sent already. So first the system is told to ignore requests for new connections. (The
client repeats its request after a second, and finds the next server or a closed port.) The server accepts the
connections that there are, and only then is the socket closed.

A packet filter does that where the process has the right to attach one. Elsewhere the socket requires a time
to live that no client's packets have, for which no right is needed. But connections that were being made
inherit that option, and it has to be removed from them before their requests come through.

Where another process goes on listening on the same socket, none of this is done to it: this process alone
takes no more from it.
"""

from __future__ import annotations

import ctypes
import os
import select
import socket
import struct
import sys
from collections.abc import Iterator
from contextlib import closing, suppress

from app.http_server.connections import DESCRIPTORS, duplicate, each_descriptor, each_socket, is_socket

# a classic BPF program over a TCP segment: nothing of a SYN without ACK, all of anything else
PROGRAM = (
    (0x30, 0, 0, 13),  # load the byte with the flags
    (0x54, 0, 0, 0x12),  # keep SYN and ACK of them
    (0x15, 0, 1, 0x02),  # SYN alone?
    (0x06, 0, 0, 0),  # drop
    (0x06, 0, 0, 0xFFFFFFFF),  # let pass
)
SO_ATTACH_FILTER = 26
MAX_TTL = 255  # packets start with less: Linux, macOS and Windows with 64 or 128
# each by the level of the option and its number, which Python's `socket` does not have
IP_MINTTL, IPV6_MINHOPCOUNT = (socket.IPPROTO_IP, 21), (socket.IPPROTO_IPV6, 73)


def refuse_newcomers(port: int) -> bool:
    """Refuses new connections on this process's listening sockets. Does nothing on other systems than Linux.

    Where it returns true, call `admit_accepted` repeatedly until no connection is left to accept.
    """
    is_inherited = False
    for listener in listeners(port) if sys.platform == "linux" else ():
        with listener:
            try:
                attach_filter(listener)
            except OSError:  # an ordinary user lacks the right on some systems
                require_ttl(listener, MAX_TTL)
                is_inherited = True
    return is_inherited


def stop_accepting(listener: int) -> None:
    """Has the server of this process find no more connections on its descriptor of a listening socket.

    The descriptor becomes one of a socket to which nobody connects. The socket itself stays as it is.
    """
    if not is_socket(listener):  # the server has closed it: the number may be that of one of SQLite's files
        return
    if sys.platform == "linux":
        forget_in_epolls(listener)
    with socket.create_server(("127.0.0.1", 0), backlog=1) as idle:
        idle.setblocking(False)
        os.dup2(idle.fileno(), listener, inheritable=False)


def forget_in_epolls(descriptor: int) -> None:
    """Has no event loop of this process hear of a descriptor any more.

    Linux watches what was opened, not its number: a loop would hear of it after the number is another's, and
    when the server has freed the memory that an event of it points to.
    """
    for number in each_descriptor():
        copy = duplicate(number, is_epoll)
        if copy is not None:
            with closing(select.epoll.fromfd(copy)) as found, suppress(OSError):  # it does not watch this one
                found.unregister(descriptor)


def is_epoll(number: int) -> bool:
    try:
        return "[eventpoll]" in str((DESCRIPTORS / str(number)).readlink())
    except OSError:  # closed meanwhile
        return False


def count_connections(port: int) -> int:
    """How many connections to a port this process has open."""
    found = 0
    for one in each_socket():
        with one, suppress(OSError):
            found += one.getsockname()[1] == port and not is_listening(one)
    return found


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
    for one in each_socket():
        with one, suppress(OSError):  # gone meanwhile
            if one.getsockname()[1] == port and not is_listening(one) and one.getsockopt(*IP_MINTTL):
                require_ttl(one, 0)
                admitted += 1
    return admitted


def listeners(port: int) -> Iterator[socket.socket]:
    """Every listening socket of this process on a port, each as a duplicated descriptor."""
    for each in each_socket():
        if is_listening(each) and each.getsockname()[1] == port:
            yield each
        else:
            each.close()


def is_listening(one: socket.socket) -> bool:
    return bool(one.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN))
