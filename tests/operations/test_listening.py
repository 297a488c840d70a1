"""Listening sockets: systemd's, and those that a running `serve` hands over."""

from __future__ import annotations

import json
import os
import socket
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import click
import pytest

from app.core.config import Settings
from app.operations import listening
from app.operations.listening import Listening, inherit, listen_alone, take_sockets_of_systemd


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
    made = Listening(tuple(given), (0,), is_kept=True)
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


OTHERS = {
    "port": ({"port": 1}, "WAYPOST_HOST and WAYPOST_PORT can't change"),
    "data": ({"data_dir": Path("/nowhere")}, "WAYPOST_DATA_DIR can't change"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_what_a_reload_can_not_change_is_refused(settings: Settings, name: str) -> None:
    """The predecessor hears why."""
    changed, message = OTHERS[name]
    wanted = replace(settings, port=free(), processes=1)
    read, write = os.pipe()
    with listen_alone(wanted, None) as made, os.fdopen(read, "rb") as report:
        taken = inherit(in_another_process(made, write), wanted)
        assert taken.address == (wanted.host, wanted.port)
        taken.sockets[0].close()
        with pytest.raises(click.ClickException, match=message):
            inherit(in_another_process(made, write), replace(wanted, **changed))  # type: ignore[arg-type]
        os.close(write)
        assert message in json.loads(report.read())["problem"]


def in_another_process(made: Listening, report: int) -> str:
    """What is handed over, with descriptors of its own."""
    found = json.loads(made.to_text(report))
    return json.dumps({**found, "sockets": list(map(os.dup, found["sockets"]))})


@pytest.mark.parametrize(
    "text", ["", "{}", "[]", '{"sockets": [999], "locks": [], "report": 1, "parent": 1}']
)
def test_what_no_serve_has_written_is_refused(settings: Settings, text: str) -> None:
    with pytest.raises(click.ClickException, match="Only a running"):
        inherit(text, settings)
