"""Listening sockets: systemd's and our own, and how no more connections come on them."""

from __future__ import annotations

import os
import socket
import sqlite3
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import click
import pytest

from app.core.config import Settings
from app.http_server.answers import abort_connection
from app.operations import listening
from app.operations.listening import Listening, listen_alone, refusal_to_listen, take_sockets_of_systemd


@pytest.fixture
def given(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[socket.socket]]:
    """Two sockets of one address, as systemd hands them over: at numbers that follow each other."""
    found = [listen(0)]
    found.append(listen(found[0].getsockname()[1]))
    numbers = free_pair()
    for number, one in zip(numbers, found, strict=True):
        os.dup2(one.fileno(), number)
    monkeypatch.setattr(listening, "FIRST_OF_SYSTEMD", numbers[0])
    yield found
    for number in numbers:
        if is_open(number) and any(os.path.sameopenfile(number, one.fileno()) for one in found):
            os.close(number)
    for one in found:
        one.close()


def free_pair() -> tuple[int, int]:
    """Two descriptor numbers in a row that are free: what has another one must keep it."""
    return next(
        (number, number + 1) for number in range(200, 1000) if not is_open(number) and not is_open(number + 1)
    )


def is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def listen(port: int, kind: int = socket.SOCK_STREAM) -> socket.socket:
    made = socket.socket(type=kind)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(("127.0.0.1", port))
    if kind == socket.SOCK_STREAM:
        made.listen()
    return made


def environ_of(count: int) -> dict[str, str]:
    return {"LISTEN_PID": str(os.getpid()), "LISTEN_FDS": str(count), "LISTEN_FDNAMES": "a:b", "PATH": "/bin"}


def test_the_sockets_of_systemd_are_taken_once(given: list[socket.socket]) -> None:
    environ = environ_of(2)
    found = take_sockets_of_systemd(environ)
    assert [one.getsockname() for one in found] == [one.getsockname() for one in given]
    assert not any(one.get_inheritable() for one in found)
    assert environ == {"PATH": "/bin"}
    assert take_sockets_of_systemd(environ) == ()
    for one in found:
        one.close()


def test_sockets_of_another_process_are_left_alone(given: list[socket.socket]) -> None:
    assert given
    environ = environ_of(2) | {"LISTEN_PID": "1"}
    assert take_sockets_of_systemd(environ) == ()
    assert environ == {"PATH": "/bin"}


def test_sockets_of_several_addresses_are_refused(given: list[socket.socket]) -> None:
    with listen(0) as other:
        os.dup2(other.fileno(), listening.FIRST_OF_SYSTEMD + 1)
        with pytest.raises(click.ClickException, match="several addresses"):
            take_sockets_of_systemd(environ_of(len(given)))


def test_what_is_no_listening_socket_is_refused(given: list[socket.socket]) -> None:
    assert given
    with listen(0, socket.SOCK_DGRAM) as other:
        os.dup2(other.fileno(), listening.FIRST_OF_SYSTEMD)
        with pytest.raises(click.ClickException, match="ListenStream= must be a port"):
            take_sockets_of_systemd(environ_of(1))
    os.dup2(given[0].fileno(), listening.FIRST_OF_SYSTEMD)
    os.close(listening.FIRST_OF_SYSTEMD + 1)
    with pytest.raises(click.ClickException, match="ListenStream= must be a port"):
        take_sockets_of_systemd(environ_of(2))


def test_the_settings_follow_the_sockets_of_systemd(settings: Settings, given: list[socket.socket]) -> None:
    made = Listening(tuple(given), 0, is_kept=True)
    settled = made.settle(replace(settings, host="::", port=1, processes=1))
    assert (settled.host, settled.port, settled.processes) == (*given[0].getsockname(), 2)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux distributes connections among sockets")
def test_each_web_process_has_its_own_socket(settings: Settings) -> None:
    wanted = replace(settings, port=free(), processes=3)
    with listen_alone(wanted, None) as made:
        assert len({one.fileno() for one in made.sockets}) == 3
        assert made.address == (wanted.host, wanted.port)
        assert [made.of_process(number) for number in (1, 3, 4)] == [
            made.sockets[place] for place in (0, 2, 0)
        ]
        with pytest.raises(click.ClickException, match="running on"), listen_alone(wanted, None):
            pass


def free() -> int:
    with listen(0) as probe:
        port: int = probe.getsockname()[1]
        return port


def test_a_port_in_use_names_what_sets_another() -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        said = str(refusal_to_listen("127.0.0.1", port))
    assert f"http://127.0.0.1:{port} is in use" in said
    assert "PORT=" in said
    assert "WAYPOST_PORT" in said
    assert refusal_to_listen("127.0.0.1", port) is None


def test_an_address_of_another_machine_is_not_a_port_in_use() -> None:
    said = str(refusal_to_listen("192.0.2.1", 8000))
    assert "http://192.0.2.1:8000 is on no network of this machine" in said
    assert "WAYPOST_HOST" in said


# --- the end


FAMILIES = {"IPv4": (socket.AF_INET, "127.0.0.1"), "IPv6": (socket.AF_INET6, "::1")}


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES)
def listener(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[socket.socket]:
    """One of a user who may not attach filters."""

    def refuse(_listener: socket.socket) -> None:
        raise PermissionError(1, "Operation not permitted")

    if sys.platform != "linux":
        pytest.skip("newcomers are refused on Linux alone")
    monkeypatch.setattr(listening, "attach_filter", refuse)
    family, host = request.param
    with socket.create_server((host, 0), family=family) as made:
        yield made


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


def test_newcomers_are_refused_and_welcome_again(listener: socket.socket) -> None:
    with closing(come(listener)):
        assert is_asked(listener), "on this machine a connection is there at once"
    with closing(come(listener)) as before:
        assert listening.refuse_newcomers(listener)
        with closing(come(listener)):
            listener.setblocking(True)
            accepted = listener.accept()[0]
            assert accepted.getpeername() == before.getsockname()
            assert not is_asked(listener)
        with accepted:
            before.sendall(b"asked before")
            accepted.settimeout(60)
            assert accepted.recv(99) == b"asked before"
    listening.welcome_newcomers(listener)
    with closing(come(listener)):
        assert is_asked(listener)


def test_a_filter_is_removed(listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    if listening.refuse_newcomers(listener):
        pytest.skip("this user may attach no filter")
    with closing(come(listener)):
        assert not is_asked(listener)
    listening.welcome_newcomers(listener)
    with closing(come(listener)):
        assert is_asked(listener)


def test_one_whose_connection_was_being_made_is_heard(listener: socket.socket) -> None:
    """It inherits the listener's option: what it sends is ignored until that is removed."""
    with closing(come(listener)) as client, listener.accept()[0] as accepted:
        listening.require_ttl(accepted, listening.MAX_TTL)
        client.sendall(b"a request")
        accepted.setblocking(False)
        with pytest.raises(BlockingIOError):
            accepted.recv(99)
        port = listener.getsockname()[1]
        assert listening.admit_accepted(port) == 1
        accepted.settimeout(60)
        assert accepted.recv(99) == b"a request"
        assert listening.admit_accepted(port) == 0


LOCKS = Path("/proc/locks")


def held_locks() -> set[str]:
    """This process's record locks, without their numbers in the list."""
    mine = f" {os.getpid()} "
    return {line.split(":", 1)[1] for line in LOCKS.read_text().splitlines() if mine in line}


@pytest.mark.skipif(not LOCKS.exists(), reason="/proc/locks is Linux's")
def test_looking_for_connections_keeps_the_locks_of_sqlite(tmp_path: Path) -> None:
    """In the middle of a write, and no descriptor is opened or closed."""
    before = held_locks()
    with closing(sqlite3.connect(tmp_path / "main.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("CREATE TABLE link (id)")
        connection.execute("BEGIN IMMEDIATE")
        connection.execute("INSERT INTO link VALUES (1)")
        locks = held_locks() - before
        assert locks
        with listen(0) as listener, closing(come(listener)) as client, listener.accept()[0] as accepted:
            opened = len([*listening.DESCRIPTORS.iterdir()])
            found = {one.fileno() for one in listening.each_connection()}
            assert {client.fileno(), accepted.fileno()} <= found
            assert listener.fileno() not in found
            assert len([*listening.DESCRIPTORS.iterdir()]) == opened
        assert locks <= held_locks()


def test_a_broken_off_answer_ends_its_connection_alone() -> None:
    with (
        listen(0) as listener,
        closing(come(listener)) as client,
        closing(come(listener)) as other,
        listener.accept()[0],
        listener.accept()[0],
    ):
        host, port = client.getsockname()
        abort_connection({"REMOTE_ADDR": host, "REMOTE_PORT": str(port)})
        client.settimeout(60)
        assert client.recv(99) == b""
        with pytest.raises(BlockingIOError):
            other.recv(99)
