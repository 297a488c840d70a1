"""A `serve` on sockets that systemd keeps: a restart refuses nobody."""

from __future__ import annotations

import socket
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.cli.test_serve import NO_RIGHTS, Visitor
from tests.proxies import HOSTS
from tests.server import BROWSER, SECONDS, Server, wait_for
from tests.test_kills import clicks, make_hot_link

pytestmark = pytest.mark.full

# becomes a program for which systemd listens: its sockets are descriptors from 3 on, and named by its own id
AS_SYSTEMD = """
import os, sys
count = int(sys.argv[1])
for place, number in enumerate(map(int, sys.argv[2 : 2 + count])):
    os.dup2(number, 3 + place)
os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS=str(count))
os.execvp(sys.argv[2 + count], sys.argv[2 + count :])
"""


class Regular(Visitor):
    """A visitor who comes again and again, and for whom somebody has to be there each time."""

    refused = 0

    def __init__(self, port: int, ended: threading.Event) -> None:
        super().__init__(port, ended)
        self.request = f"GET /hot HTTP/1.1\r\nHost: {HOSTS[0]}\r\nUser-Agent: {BROWSER}\r\n\r\n".encode()

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                line = socket.create_connection(("127.0.0.1", self.port), timeout=60)
            except OSError:
                self.refused += 1
                return
            with line:
                self.stay(line)


class Crowd:
    """Sixteen of them."""

    def __init__(self, port: int) -> None:
        self.ended = threading.Event()
        self.visitors = [Regular(port, self.ended) for _ in range(16)]
        for visitor in self.visitors:
            visitor.start()

    @property
    def answered(self) -> int:
        return sum(visitor.answered for visitor in self.visitors)

    def go_on(self, visits: int = 1000) -> None:
        before = self.answered
        wait_for(lambda: self.answered > before + visits, "more visits")

    def leave(self) -> None:
        self.ended.set()
        for visitor in self.visitors:
            visitor.join(SECONDS)

    def check(self, server: Server) -> None:
        """Nobody was refused or left without an answer, and each answer is one click."""
        self.leave()
        assert not [visitor for visitor in self.visitors if visitor.is_alive()]
        assert sum(visitor.refused for visitor in self.visitors) == 0
        assert sum(visitor.unanswered for visitor in self.visitors) == 0
        server.stop()
        assert "Traceback" not in server.written()
        assert clicks(server) == self.answered


@pytest.fixture
def crowds() -> Iterator[Callable[[int], Crowd]]:
    found: list[Crowd] = []

    def come(port: int) -> Crowd:
        found.append(Crowd(port))
        return found[-1]

    yield come
    for each in found:
        each.leave()


@pytest.mark.parametrize(
    ("count", "rights"),
    {"shared": (1, NO_RIGHTS), "of their own": (2, ())}.values(),
    ids=["shared", "of their own"],
)
def test_a_restart_refuses_nobody(
    count: int, rights: tuple[str, ...], tmp_path: Path, crowds: Callable[[int], Crowd]
) -> None:
    """They wait in the socket until the next `serve` is there."""
    server = Server(tmp_path / "server", PROCESSES="2", PORT="1")
    listeners = [listen_as_systemd(server.port if place else 0, server) for place in range(count)]
    server.descriptors = tuple(one.fileno() for one in listeners)
    server.prefix = (*rights, sys.executable, "-c", AS_SYSTEMD, str(count), *map(str, server.descriptors))
    try:
        server.start()
        make_hot_link(server)
        crowd = crowds(server.port)
        for _ in range(2):
            crowd.go_on()
            server.stop()
            server.start()
        crowd.go_on()
        crowd.check(server)
    finally:
        server.kill()
        for one in listeners:
            one.close()


def listen_as_systemd(port: int, server: Server) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    made.bind(("127.0.0.1", port))
    made.listen(2048)
    server.port = made.getsockname()[1]
    server.url = f"http://127.0.0.1:{server.port}"
    return made
