"""Restarts without a gap: reloads, and sockets that systemd keeps, under load and with real processes."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests.cli.test_serve import (
    RIGHTS,
    Visitor,
    children,
    end_all,
    end_main,
    is_alive,
    main_pid,
    press_ctrl_c,
    run_with_rights,
    start_role,
)
from tests.proxies import HOSTS, is_installed, running
from tests.server import BROWSER, SECONDS, Server, wait_for
from tests.test_kills import clicks, make_hot_link

pytestmark = pytest.mark.full

MakeServer = Callable[..., Server]

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


def reload(
    server: Server, *arguments: str, folder: Path = ROOT, **environ: str
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "app.cli", "serve", "--reload", *arguments],
        cwd=folder,
        env={**server.environ, **environ},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )


def worker_of(server: Server) -> set[int]:
    """Processes that hold the worker's lock."""
    number = (server.data_dir / "worker.lock").stat().st_ino
    lines = Path("/proc/locks").read_text().splitlines()
    return {int(line.split()[4]) for line in lines if f":{number} " in line and "->" not in line}


@pytest.mark.parametrize("prefix", RIGHTS.values(), ids=RIGHTS)
def test_reloads_under_load(
    prefix: tuple[str, ...], make_server: MakeServer, crowds: Callable[[int], Crowd]
) -> None:
    server = run_with_rights(prefix, make_server)
    crowd = crowds(server.port)
    crowd.go_on()
    for _ in range(2):
        before = worker_of(server)
        done = reload(server)
        assert (done.returncode, done.stderr) == (0, "")
        assert "The old processes have ended." in done.stdout
        after = wait_for(lambda: worker_of(server), "the next worker")
        assert len(after) == 1
        assert after != before
        crowd.go_on()
    crowd.check(server)


def test_what_was_begun_is_answered_by_the_old_ones(make_server: MakeServer) -> None:
    """A request whose body is still coming when another generation takes over."""
    server = make_server()
    make_hot_link(server)
    key = server.flask("keys", "create", "--email", "owner@example.com", "--name", "other").strip()
    # the spaces come one by one, for as long as the new generation takes to start: a body that rests is 408
    body = b" " * 10_000 + b'{"location_url": "https://example.com/slow", "url": "slow"}'
    head = (
        f"POST /api/links HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    sent = 0
    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as line:

        def is_taken_over() -> bool:
            nonlocal sent
            line.sendall(body[sent : sent + 1])
            sent += 1
            return server.written().count("Waypost listens") == 2

        line.sendall(head.encode())
        assert server.process
        server.process.send_signal(signal.SIGHUP)
        wait_for(is_taken_over, "the new generation")
        line.sendall(body[sent:])
        answer = line.recv(65536)
    assert answer.startswith(b"HTTP/1.1 201")
    assert b"connection: close" in answer.lower()
    wait_for(lambda: "reloaded" in server.written(), "the end of the old one")
    wait_for(server.is_ready, "a ready server")


def test_the_program_that_asks_is_the_one_that_takes_over(make_server: MakeServer, tmp_path: Path) -> None:
    """A release in a folder of its own, whose pages say something else."""
    release = tmp_path / "release"
    shutil.copytree(ROOT / "app", release / "app", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", release)
    page = release / "app" / "public" / "health.py"
    page.write_text(page.read_text().replace('"/healthz"', '"/new-healthz"'))
    server = make_server()
    assert server.status("/new-healthz") == 404
    assert reload(server, folder=release).returncode == 0
    assert server.status("/new-healthz") == 200
    (successor,) = children(main_pid(server))
    assert Path(f"/proc/{successor}/cwd").readlink() == release


@pytest.mark.parametrize("end", [end_main, end_all, press_ctrl_c])
def test_the_end_ends_all_generations(end: Callable[[int], None], make_server: MakeServer) -> None:
    server = make_server()
    assert reload(server).returncode == 0
    (successor,) = children(main_pid(server))
    family = [successor, *children(successor)]
    end(main_pid(server))
    assert server.process
    assert server.process.wait(SECONDS) == 0
    assert not [pid for pid in family if is_alive(pid)]


def test_a_generation_that_is_killed_ends_the_whole(make_server: MakeServer) -> None:
    """A service manager starts it again."""
    server = make_server()
    assert reload(server).returncode == 0
    (successor,) = children(main_pid(server))
    os.kill(successor, signal.SIGKILL)
    assert server.process
    assert server.process.wait(SECONDS) == 1
    server.start()


def test_no_generation_outlives_a_killed_main_process(make_server: MakeServer) -> None:
    server = make_server()
    assert reload(server).returncode == 0
    (successor,) = children(main_pid(server))
    family = [successor, *children(successor)]
    os.kill(main_pid(server), signal.SIGKILL)
    assert server.process
    server.process.wait()
    wait_for(lambda: not any(map(is_alive, family)), "the end of all")
    server.start()
    assert server.status("/healthz") == 200


def test_the_old_one_goes_on_where_the_new_one_does_not_come_up(
    make_server: MakeServer, tmp_path: Path, crowds: Callable[[int], Crowd]
) -> None:
    number = tmp_path / "processes"
    number.write_text("1")
    server = make_server(PROCESSES="", PROCESSES_FILE=str(number))
    make_hot_link(server)
    family = wait_for(lambda: len(found := children(main_pid(server))) == 2 and found, "both children")
    crowd = crowds(server.port)
    number.write_text("a hundred")
    done = reload(server)
    assert done.returncode == 1
    assert "WAYPOST_PROCESSES: must be a whole number" in done.stderr
    done = reload(server, WAYPOST_PROCESSES_FILE="")
    assert done.returncode == 1
    assert "the old ones go on. It ended with exit code 1; the log says why." in done.stderr
    assert "WAYPOST_PROCESSES: must be a whole number" in server.written()
    number.write_text("1")
    with closing(sqlite3.connect(server.data_dir / "main.db", timeout=60)) as connection, connection:
        (before,) = connection.execute("SELECT version_num FROM alembic_version").fetchone()
        connection.execute("UPDATE alembic_version SET version_num = 'ffff'")
    done = reload(server)
    assert done.returncode == 1
    assert "the old ones go on. a newer Waypost has written to this database" in done.stderr
    wait_for(server.is_ready, "a ready server")
    with closing(sqlite3.connect(server.data_dir / "main.db", timeout=60)) as connection, connection:
        connection.execute("UPDATE alembic_version SET version_num = ?", (before,))
    assert children(main_pid(server)) == family
    crowd.go_on(100)
    crowd.check(server)


def test_a_reload_keeps_the_address(make_server: MakeServer) -> None:
    server = make_server()
    file = server.data_dir / "port"
    file.write_text(str(server.port))
    server.stop()
    server.environ |= {"WAYPOST_PORT": "", "WAYPOST_PORT_FILE": str(file)}
    server.start()
    file.write_text("8001")
    done = reload(server)
    assert done.returncode == 1
    assert "WAYPOST_HOST and WAYPOST_PORT can't change in a reload" in done.stderr
    assert server.status("/healthz") == 200


def test_both_roles_reload(make_server: MakeServer) -> None:
    server = make_server()
    server.stop()
    visitors = start_role(server, "visitors")
    owners = start_role(server, "owners")
    try:
        done = reload(server)
        assert (done.returncode, done.stderr) == (0, "")
        for role in ("visitors", "owners"):
            assert f"{role}: The old processes have ended." in done.stdout
        assert [visitors.status("/login"), owners.status("/login")] == [404, 200]
        only = reload(server, "--role", "owners")
        assert (only.returncode, "visitors" in only.stdout) == (0, False)
    finally:
        owners.stop()
        visitors.stop()
    done = reload(server)
    assert done.returncode == 1
    assert "No `serve` that can be reloaded runs" in done.stderr


@pytest.mark.parametrize("count", [1, 2])
def test_a_restart_on_sockets_of_systemd_refuses_nobody(
    count: int, tmp_path: Path, crowds: Callable[[int], Crowd]
) -> None:
    """They wait in the socket until the next `serve` is there."""
    server = Server(tmp_path / "server", PROCESSES="2", PORT="1")
    listeners = [listen_as_systemd(server.port if place else 0, server) for place in range(count)]
    server.descriptors = tuple(one.fileno() for one in listeners)
    server.prefix = (sys.executable, "-c", AS_SYSTEMD, str(count), *map(str, server.descriptors))
    try:
        server.start()
        make_hot_link(server)
        crowd = crowds(server.port)
        for _ in range(2):
            crowd.go_on()
            server.stop()
            server.start()
        assert reload(server).returncode == 0
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


@pytest.mark.parametrize("name", ["nginx", "caddy"])
def test_reloads_behind_a_proxy(
    name: str, make_server: MakeServer, crowds: Callable[[int], Crowd], tmp_path: Path
) -> None:
    """A proxy keeps connections to Waypost open, and uses them when it likes."""
    if not is_installed(name):
        pytest.skip(f"no {name} here: install the package {name} to test the file that deploy/ has for it")
    server = make_server(PROCESSES="2", TRUSTED_PROXIES="1", BASE_URL=f"http://{HOSTS[0]}")
    make_hot_link(server)
    with running(name, tmp_path, server.port) as proxy:
        crowd = crowds(proxy.port)
        crowd.go_on(300)
        assert reload(server).returncode == 0
        crowd.go_on(300)
        crowd.check(server)
