"""Draining: only new connections are refused, with and without the right to attach a filter."""

from __future__ import annotations

import os
import select
import socket
import sys
from collections.abc import Iterator
from contextlib import closing

import pytest

from app.cli import draining

FAMILIES = {"IPv4": (socket.AF_INET, "127.0.0.1"), "IPv6": (socket.AF_INET6, "::1")}


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES)
def listener(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    def refuse(_listener: socket.socket) -> None:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(draining, "attach_filter", refuse)
    family, host = request.param
    with socket.create_server((host, 0), family=family) as listener:
        yield listener


def come(listener: socket.socket) -> socket.socket:
    """A client that requests a connection, and does not wait for it."""
    client = socket.socket(listener.family)
    client.setblocking(False)
    client.connect_ex(listener.getsockname())
    return client


def is_asked(listener: socket.socket) -> bool:
    """Whether a connection waits to be accepted."""
    listener.setblocking(False)
    try:
        listener.accept()[0].close()
    except BlockingIOError:
        return False
    return True


def test_an_ordinary_user_refuses_newcomers(listener: socket.socket) -> None:
    with closing(come(listener)):
        assert is_asked(listener), "on this machine a connection is there at once"
    with closing(come(listener)) as before:
        assert draining.refuse_newcomers(listener.getsockname()[1])
        with closing(come(listener)):
            listener.setblocking(True)
            accepted = listener.accept()[0]
            assert accepted.getpeername() == before.getsockname()
            assert not is_asked(listener)
        with accepted:
            before.sendall(b"asked before")
            accepted.settimeout(60)
            assert accepted.recv(99) == b"asked before"


def test_one_whose_connection_was_being_made_is_heard(listener: socket.socket) -> None:
    """It inherits the listener's option: what it sends is ignored until that is removed."""
    with closing(come(listener)) as client, listener.accept()[0] as accepted:
        draining.require_ttl(accepted, draining.MAX_TTL)
        client.sendall(b"a request")
        accepted.setblocking(False)
        with pytest.raises(BlockingIOError):
            accepted.recv(99)
        port = listener.getsockname()[1]
        assert draining.admit_accepted(port) == 1
        accepted.settimeout(60)
        assert accepted.recv(99) == b"a request"
        assert draining.admit_accepted(port) == 0


@pytest.mark.skipif(sys.platform != "linux", reason="epoll is Linux's")
def test_another_process_goes_on_with_what_this_one_leaves() -> None:
    """The queue stays with the socket, and no event loop hears of it any more."""
    with (
        socket.create_server(("127.0.0.1", 0)) as listener,
        socket.socket(fileno=os.dup(listener.fileno())) as ours,
        closing(select.epoll()) as loop,
    ):
        loop.register(ours.fileno(), select.EPOLLIN | select.EPOLLET)
        with closing(come(listener)):
            assert loop.poll(60)
            draining.stop_accepting(ours.fileno())
            assert not is_asked(ours)
            assert is_asked(listener)
        with closing(come(listener)):
            assert not loop.poll(0)
            assert is_asked(listener)


def test_open_connections_are_counted(listener: socket.socket) -> None:
    port = listener.getsockname()[1]
    assert draining.count_connections(port) == 0
    with closing(come(listener)), listener.accept()[0]:
        assert draining.count_connections(port) == 1
    assert draining.count_connections(port) == 0
