"""`serve`: one command starts everything, one signal ends it, and no request is lost meanwhile."""

from __future__ import annotations

import json
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
import requests

from app.core.folders import ROOT
from tests.crowds import Owner
from tests.factories import PASSWORD
from tests.server import BROWSER, SECONDS, Server, free_port, wait_for
from tests.test_kills import clicks, make_hot_link

pytestmark = pytest.mark.full

MakeServer = Callable[..., Server]


def refused(server: Server, *arguments: str, **environ: str) -> str:
    """The message of a `serve` that must refuse to start."""
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


def worker_of(server: Server) -> set[int]:
    """Processes that hold the worker's lock."""
    number = (server.data_dir / "worker.lock").stat().st_ino
    lines = Path("/proc/locks").read_text().splitlines()
    return {int(line.split()[4]) for line in lines if f":{number} " in line and "->" not in line}


def main_pid(server: Server) -> int:
    assert server.process
    return server.process.pid


@pytest.mark.skipif(sys.platform != "linux", reason="/proc is Linux's")
def test_processes_are_forked_while_no_database_is_open(make_server: MakeServer) -> None:
    """What the main process had open then would still be open in it."""

    def databases(pid: int) -> list[Path]:
        opened = [path.readlink() for path in Path(f"/proc/{pid}/fd").iterdir() if path.is_symlink()]
        return [path for path in opened if ".db" in path.name]

    server = make_server()
    assert databases(main_pid(server)) == []
    assert any(databases(child) for child in children(main_pid(server)))


def test_it_says_where_it_is_and_how_the_first_account_is_made(make_server: MakeServer) -> None:
    server = make_server()
    wait_for(lambda: "/setup?token=" in server.written(), "the address")
    assert f"Waypost listens on {server.url}" in server.written()
    assert requests.get(server.setup_address(), timeout=10).status_code == 200
    server.flask(
        "users", "create", "--email", "a@example.com", "--password-stdin", stdin="five small boats\n"
    )
    del server.environ["WAYPOST_PORT"]  # another terminal knows nothing of `--port`
    assert f"Sign in:   {server.url}/login" in server.flask("seed", "--links", "1", "--clicks", "0")
    server.stop()
    server.environ["WAYPOST_PORT"] = str(server.port)
    server.start()
    wait_for(lambda: "listens" in server.written(), "the start")
    server.stop()
    assert "/setup" not in server.written()
    assert "Traceback" not in server.written()


def test_a_log_in_json_is_all_json(make_server: MakeServer) -> None:
    """All lines on both outputs are JSON: migrations, requests, an account, the end."""
    server = make_server(LOG_FORMAT="json")
    assert server.status("/nothing") == 404
    server.flask("users", "create", "--email", "a@example.com", "--password-stdin", stdin=PASSWORD)
    server.stop()
    found = [json.loads(line) for line in server.written().splitlines()]
    events = [one["event"] for one in found]
    assert sum("tables were brought up to date" in event for event in events) == 1
    assert {"listening", "no account yet", "request"} <= set(events)
    assert not [one for one in found if one.get("path") == "/readyz" and one["status"] == 200]
    (asked,) = [one for one in found if one["event"] == "no account yet"]
    assert asked["token_file"] == str(server.data_dir / "setup_token")
    assert "token=" not in server.written()


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
        del server.environ["WAYPOST_PORT"]
        assert f"{owners.url}/login" in server.flask("seed", "--links", "1", "--clicks", "0")
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


class Visitor(threading.Thread):
    """Visits as fast as possible, on a connection that is kept until the server closes it."""

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
                return  # no server takes requests any more: none is unanswered
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


def end_main(pid: int) -> None:
    os.kill(pid, signal.SIGTERM)


def end_all(pid: int) -> None:
    os.killpg(pid, signal.SIGTERM)


def end_stopped(pid: int) -> None:
    """Stops all processes, sends SIGTERM and continues them: then any thread may get the signal.

    A suspended machine does the same.
    """
    family = children(pid)
    for each in family:
        os.kill(each, signal.SIGSTOP)
    wait_for(lambda: all(status(each, "State").startswith("T") for each in family), "a stand-still")
    os.kill(pid, signal.SIGTERM)
    wait_for(lambda: sum(map(is_signalled, family)) == 2, "SIGTERM at both web processes")
    for each in family:
        os.kill(each, signal.SIGCONT)


def status(pid: int, name: str) -> str:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:"))


def is_signalled(pid: int) -> bool:
    """Whether SIGTERM is pending for this process."""
    return bool(int(status(pid, "ShdPnd"), 16) & 1 << (signal.SIGTERM - 1))


def press_ctrl_c(pid: int) -> None:
    os.killpg(pid, signal.SIGINT)


# rights that a service manager or a container takes from a process, which may run as any user
NO_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")


@pytest.mark.parametrize(
    ("end", "prefix"),
    [(end_main, ()), (end_all, NO_RIGHTS), (end_stopped, ()), (press_ctrl_c, NO_RIGHTS)],
    ids=["main process", "all processes", "while they stand still", "Ctrl+C"],
)
def test_an_end_under_load_leaves_no_request_unanswered(
    end: Callable[[int], None],
    prefix: tuple[str, ...],
    make_server: MakeServer,
    crowd: Callable[[int], list[Visitor]],
) -> None:
    if prefix and not shutil.which(prefix[0]):
        pytest.skip(f"no {prefix[0]}")
    server = make_server(PROCESSES="2")
    make_hot_link(server)
    server.stop()
    server.prefix = prefix
    server.start()
    visitors = crowd(server.port)
    wait_for(lambda: sum(each.answered for each in visitors) > 1000, "visits")
    end(main_pid(server))
    assert server.process
    assert server.process.wait(SECONDS) == 0
    for visitor in visitors:
        visitor.join(SECONDS)
        assert not visitor.is_alive()
    assert sum(visitor.unanswered for visitor in visitors) == 0
    assert "Traceback" not in server.written()
    assert clicks(server) == sum(visitor.answered for visitor in visitors)


def test_sigterm_waits_for_a_request_that_takes_longer(make_server: MakeServer) -> None:
    server = make_server(PROCESSES="2")
    make_hot_link(server)
    key = server.flask("keys", "create", "--email", "owner@example.com", "--name", "other").strip()
    body = b'{"location_url": "https://example.com/slow", "url": "slow"}'
    head = (
        f"POST /api/links HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer {key}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    family = wait_for(lambda: len(found := children(main_pid(server))) == 3 and found, "all processes")
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as line:
        line.sendall(head.encode() + body[:9])
        wait_for(lambda: is_taken_in(line), "its reception")
        os.kill(main_pid(server), signal.SIGTERM)
        wait_for(lambda: not all(map(is_alive, family)), "the end of the web process without a request")
        line.sendall(body[9:])
        answer = line.recv(65536)
    assert answer.startswith(b"HTTP/1.1 201")
    assert b"connection: close" in answer.lower()
    assert server.process
    assert server.process.wait(SECONDS) == 0


def is_taken_in(line: socket.socket) -> bool:
    """Whether the other side has read all that was sent, so that nothing waits in its socket."""
    here, there = (f"0100007F:{port:04X}" for port in (line.getsockname()[1], line.getpeername()[1]))
    for row in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, _, queues, *_ = row.split()
        if (local, remote) == (there, here):
            return queues.endswith(":00000000")
    return False


def test_a_server_that_hangs_does_not_hold_up_the_end(make_server: MakeServer) -> None:
    """The end waits neither for a destination check nor for a delivery under way."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        server = make_server(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8")
        owner = Owner(server)
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with closing(sqlite3.connect(server.data_dir / "main.db", timeout=60)) as connection, connection:
            connection.execute("UPDATE user SET checks_destinations = 1")
        handler = owner.make_handler(type="webhook", name="a", webhook=url)
        owner.make_link(location_url=url, email_reports=[handler])
        silent.settimeout(SECONDS)  # checks begin with the next minute
        with silent.accept()[0]:
            server.stop()
    assert "is killed" not in server.written()


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
    """The destinations that new connections get, which go to different processes."""
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


def test_web_processes_are_forks_whatever_pythons_default_is(tmp_path: Path) -> None:
    """From Python 3.14 on, the default would start them from another process, to which no application can be sent."""
    server = Server(tmp_path / "data", PROCESSES="2")
    begin = "import multiprocessing; multiprocessing.set_start_method('forkserver'); from app.cli.__main__ import main"
    server.program = (sys.executable, "-c", f"{begin}; main()")
    server.start()
    server.stop()
    assert "Traceback" not in server.written()
