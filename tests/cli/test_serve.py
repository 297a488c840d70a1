"""Does one command start everything, one signal end it, and nothing get in the way of either?"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import requests

from app.config import ROOT
from tests.server import BROWSER, Server, free_port, wait_for
from tests.test_kills import clicks, make_hot_link

MakeServer = Callable[..., Server]


def refused(server: Server, *arguments: str, **environ: str) -> str:
    """What a `serve` says that must not start."""
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "serve", *arguments]
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**server.environ, **environ},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "Traceback" not in done.stderr
    return done.stderr


def children(pid: int) -> list[int]:
    listed = Path(f"/proc/{pid}/task/{pid}/children")
    return [
        int(child) for path in listed.parent.parent.glob("*/children") for child in path.read_text().split()
    ]


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def main_pid(server: Server) -> int:
    assert server.process
    return server.process.pid


def test_it_says_where_it_is_and_how_the_first_account_is_made(make_server: MakeServer) -> None:
    server = make_server()
    wait_for(lambda: "/setup?token=" in server.written(), "the address")
    assert f"Waypost listens on {server.url}" in server.written()
    assert requests.get(server.setup_address(), timeout=10).status_code == 200
    server.flask(
        "users", "create", "--email", "a@example.com", "--password-stdin", stdin="five small boats\n"
    )
    server.stop()
    server.start()
    wait_for(lambda: "listens" in server.written(), "the start")
    server.stop()
    assert "/setup" not in server.written()
    assert "Traceback" not in server.written()


def test_a_second_one_on_the_same_data_or_port_says_so(make_server: MakeServer, tmp_path: Path) -> None:
    server = make_server()
    assert "running on" in refused(server, "--port", str(free_port()))
    assert "in use" in refused(server, WAYPOST_DATA_DIR=str(tmp_path / "other"))
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        assert "in use" in refused(server, "--port", str(port), WAYPOST_DATA_DIR=str(tmp_path / "other"))
    assert server.status("/healthz") == 200


def test_roles_share_the_data_and_nothing_else_does(make_server: MakeServer) -> None:
    server = make_server()
    assert "running on" in refused(server, "--role", "owners", "--port", str(free_port()))
    server.stop()
    visitors = start_role(server, "visitors")
    owners = Server(server.data_dir)
    try:
        run_role(owners, "owners")
        assert "running on" in refused(server, "--role", "visitors", "--port", str(free_port()))
        assert "running on" in refused(server, "--port", str(free_port()))
        assert [visitors.status("/login"), owners.status("/login")] == [404, 200]
    finally:
        owners.stop()
        visitors.stop()


def start_role(server: Server, role: str) -> Server:
    other = Server(server.data_dir)
    run_role(other, role)
    return other


def run_role(server: Server, role: str) -> None:
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "serve", "--role", role]
    with server.output.with_suffix(f".{role}").open("wb") as log:
        server.process = subprocess.Popen(
            command, cwd=ROOT, env=server.environ, stdout=log, stderr=log, start_new_session=True
        )
    wait_for(server.is_ready, role)


def test_the_main_process_holds_no_database(make_server: MakeServer) -> None:
    """A connection that is open in a parent and used in its children spoils the file."""
    server = make_server()
    pid = main_pid(server)
    held = [str(fd.readlink()) for fd in Path(f"/proc/{pid}/fd").iterdir() if fd.is_symlink()]
    assert not [path for path in held if path.endswith((".db", "-wal", "-shm"))]


def test_a_killed_process_comes_back(make_server: MakeServer) -> None:
    server = make_server()
    before = wait_for(lambda: len(found := children(main_pid(server))) == 2 and found, "both children")
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    wait_for(lambda: len(set(children(main_pid(server))) - set(before)) == 2, "new ones")
    wait_for(server.is_ready, "a ready server")


def test_nobody_outlives_a_killed_main_process_and_the_next_one_starts(make_server: MakeServer) -> None:
    server = make_server()
    family = wait_for(lambda: len(found := children(main_pid(server))) == 2 and found, "both children")
    os.kill(main_pid(server), signal.SIGKILL)
    assert server.process
    server.process.wait()
    wait_for(lambda: not any(map(is_alive, family)), "their end", 25)
    server.start()
    assert server.status("/healthz") == 200


class Visitor(threading.Thread):
    """Visits as fast as it goes, on a connection that is kept until the server closes it."""

    def __init__(self, port: int, ended: threading.Event) -> None:
        super().__init__()
        self.port, self.ended = port, ended
        self.answered = self.unanswered = 0
        self.request = f"GET /hot HTTP/1.1\r\nHost: a\r\nUser-Agent: {BROWSER}\r\n\r\n".encode()

    def run(self) -> None:
        while not self.ended.is_set():
            try:
                line = socket.create_connection(("127.0.0.1", self.port), timeout=30)
            except OSError:
                return  # nobody takes requests any more: none is unanswered
            with line:
                self.stay(line)

    def stay(self, line: socket.socket) -> None:
        while not self.ended.is_set():
            try:
                line.sendall(self.request)
                answer = line.recv(65536)
            except OSError:
                answer = b""
            if not answer.startswith(b"HTTP/1.1 302"):
                self.unanswered += 1
                return
            self.answered += 1
            if b"connection: close" in answer.lower():
                return


@pytest.fixture
def crowd() -> Iterator[Callable[[int], list[Visitor]]]:
    ended, threads = threading.Event(), []

    def come(port: int) -> list[Visitor]:
        threads.extend(Visitor(port, ended) for _ in range(16))
        for thread in threads:
            thread.start()
        return threads

    yield come
    ended.set()
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("everybody", [False, True], ids=["main process", "all processes"])
def test_sigterm_under_load_leaves_no_request_unanswered(
    everybody: bool, make_server: MakeServer, crowd: Callable[[int], list[Visitor]]
) -> None:
    server = make_server(PROCESSES="2")
    make_hot_link(server)
    visitors = crowd(server.port)
    wait_for(lambda: sum(each.answered for each in visitors) > 1000, "visits")
    pid = main_pid(server)
    if everybody:
        os.killpg(pid, signal.SIGTERM)
    else:
        os.kill(pid, signal.SIGTERM)
    assert server.process
    assert server.process.wait(30) == 0
    for visitor in visitors:
        visitor.join(30)
        assert not visitor.is_alive()
    assert sum(visitor.unanswered for visitor in visitors) == 0
    assert clicks(server) == sum(visitor.answered for visitor in visitors)


def test_a_change_is_seen_by_every_process(make_server: MakeServer) -> None:
    server = make_server(PROCESSES="3", API_RATE_LIMIT="0")
    make_hot_link(server)
    key = server.flask("keys", "create", "--email", "owner@example.com", "--name", "other").strip()
    with requests.Session() as api:
        api.trust_env = False
        api.headers["Authorization"] = f"Bearer {key}"
        link = api.get(f"{server.url}/api/links", timeout=30).json()["data"][0]["id"]
        for number in range(5):
            there = f"https://example.com/{number}"
            sent = {"location_url": there}
            assert api.post(f"{server.url}/api/links/{link}", data=sent, timeout=30).status_code == 200
            wait_for(lambda there=there: destinations(server) == {there}, there, 5)  # type: ignore[misc]


def destinations(server: Server) -> set[str]:
    """Where new connections, which go to one process and another, are sent."""
    found = set()
    for _ in range(24):
        answer = requests.get(
            f"{server.url}/hot",
            headers={"User-Agent": BROWSER, "Connection": "close"},
            allow_redirects=False,
            timeout=30,
        )
        found.add(answer.headers["Location"])
    return found
