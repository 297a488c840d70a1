"""Imports in processes that are killed or run concurrently: each row once, in bounded memory."""

from __future__ import annotations

import os
import re
import signal
import sqlite3
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path

import psycopg
import pytest
import requests

from app.core.folders import ROOT
from tests import postgres
from tests.server import Server, wait_for

pytestmark = pytest.mark.full

PASSWORD = "five small boats go upriver"
EMAIL = "owner@example.com"
MakeServer = Callable[..., Server]


class Visitor:
    """An owner with a simple HTTP client in place of a browser."""

    def __init__(self, server: Server) -> None:
        self.server = server
        server.flask("users", "create", "--email", EMAIL, "--password-stdin", stdin=f"{PASSWORD}\n")
        self.session = requests.Session()
        self.session.trust_env = False
        self.post("/login", {"email": EMAIL, "password": PASSWORD}, "/login")

    def token(self, path: str) -> str:
        page = self.session.get(f"{self.server.url}{path}", timeout=60).text
        found = re.search(r'name="csrf_token" value="([^"]+)"', page)
        assert found
        return found[1]

    def post(self, path: str, data: dict[str, str], page: str = "/dashboard/imports/") -> None:
        answer = self.session.post(
            f"{self.server.url}{path}",
            {"csrf_token": self.token(page), **data},
            timeout=60,
            allow_redirects=False,
        )
        assert answer.status_code == 303, answer.text

    def upload(self, pieces: Iterator[bytes], size: int) -> str:
        """Upload a file; returns the path of its import. It is sent as it is generated, to save memory here."""
        head = b'--b\r\nContent-Disposition: form-data; name="file"; filename="big.csv"\r\n\r\n'
        answer = self.session.post(
            f"{self.server.url}/dashboard/imports/",
            data=Sized(head, pieces, b"\r\n--b--\r\n", size),
            headers={
                "X-CSRFToken": self.token("/dashboard/imports/"),
                "Content-Type": "multipart/form-data; boundary=b",
            },
            timeout=300,
            allow_redirects=False,
        )
        assert answer.status_code == 303, answer.text
        return answer.headers["Location"].removeprefix(self.server.url)


class Sized:
    """A request body with a known length that is sent in pieces."""

    def __init__(self, head: bytes, pieces: Iterator[bytes], tail: bytes, size: int) -> None:
        self.all, self.size = (head, pieces, tail), size + len(head) + len(tail)

    def __len__(self) -> int:
        return self.size

    def __iter__(self) -> Iterator[bytes]:
        head, pieces, tail = self.all
        yield head
        yield from pieces
        yield tail


def children(pid: int) -> list[int]:
    found = [
        int(each)
        for path in Path(f"/proc/{pid}/task").glob("*/children")
        for each in path.read_text().split()
    ]
    return [*found, *(below for each in found for below in children(each))]


def peak_mib(pid: int) -> float:
    said = re.search(r"VmHWM:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
    assert said
    return int(said[1]) / 1024


def importing(server: Server) -> int | None:
    """The id of the process that runs an import."""
    assert server.process
    for pid in children(server.process.pid):
        try:
            if b"--run" in Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0"):
                return pid
        except OSError:
            continue
    return None


def ask(server: Server, query: str) -> list[tuple[object, ...]]:
    with sqlite3.connect(f"file:{server.data_dir / 'main.db'}?mode=ro", uri=True) as connection:
        found = connection.execute(query).fetchall()
    connection.close()
    return found


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="needs /proc")
def test_sixty_megabytes_and_kill_9(make_server: MakeServer) -> None:
    """A file comes in without staying in memory; its import is killed again and again, and makes each link once."""
    server = make_server()
    owner = Visitor(server)
    assert server.process
    owner.session.get(f"{server.url}/dashboard/imports/", timeout=60)
    before = {pid: peak_mib(pid) for pid in children(server.process.pid)}
    notes = b"x" * 1990
    lines = [b"location_url,notes\n", *(b"https://example.com/%05d,%s\n" % (n, notes) for n in range(3_000))]
    padding = [b" " * 90_000 + b"\n"] * 600  # empty lines are no rows
    size = sum(map(len, lines)) + sum(map(len, padding))
    assert size > 59_000_000
    path = owner.upload(iter([*lines, *padding]), size)
    grown = {pid: peak_mib(pid) - mib for pid, mib in before.items()}
    assert max(grown.values()) < 30, grown
    owner.post(f"{path}/check", {"column:location_url": "location_url", "column:notes": "notes"}, path)
    wait_for(lambda: state(server) == "checked", "the check")
    assert ask(server, "SELECT rows, made, failed FROM link_import") == [(3_000, 3_000, 0)]
    owner.post(f"{path}/take", {}, path)
    for least in (200, 800, 1_600):
        wait_for(lambda least=least: position(server) >= least, f"{least} rows")
        pid = importing(server)
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
        if least == 800:  # and everything beside it
            server.kill()
            server.start()
    wait_for(lambda: state(server) == "done", "the end")
    assert ask(server, "SELECT rows, made, known, failed FROM link_import") == [(3_000, 3_000, 0, 0)]
    assert ask(server, "SELECT count(*), count(DISTINCT location_url) FROM link") == [(3_000, 3_000)]


def state(server: Server) -> object:
    return ask(server, "SELECT state FROM link_import")[0][0]


def position(server: Server) -> int:
    return int(str(ask(server, "SELECT position FROM link_import")[0][0]))


@pytest.fixture
def postgres_url(postgres_template: str) -> Iterator[str]:
    name = f"transfer_{uuid.uuid4().hex}"
    with postgres.connect() as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {postgres_template}")
        yield postgres.address(name)
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_the_same_table_twice_at_once(kind: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    """Two processes, one owner: each row is made once, and known to the other import."""
    url = request.getfixturevalue("postgres_url") if kind == "postgresql" else ""
    server = Server(tmp_path / "data", DATABASE_URL=url)
    server.flask("users", "create", "--email", EMAIL, "--password-stdin", stdin=f"{PASSWORD}\n")
    table = tmp_path / "links.csv"
    rows = [f"https://example.com/{n},{f'alias{n}' if n % 2 else ''}" for n in range(1_000)]
    table.write_text("\n".join(["location_url,url", *rows]) + "\n")
    command = [sys.executable, "-m", "flask", "--app", "wsgi", "import", str(table), "--email", EMAIL]
    both = [
        subprocess.Popen(
            command, cwd=ROOT, env=server.environ, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    said = [process.communicate(timeout=120) for process in both]
    assert [process.returncode for process in both] == [0, 0], said
    counts = [list(map(int, re.findall(r"[\d,]+(?= )", out.replace(",", "")))) for out, _ in said]
    assert [sum(column) for column in zip(*counts, strict=True)] == [1_000, 1_000, 0], said
    question = "SELECT count(*), count(DISTINCT location_url) FROM link"
    if kind == "sqlite":
        assert ask(server, question) == [(1_000, 1_000)]
    else:
        with psycopg.connect(url) as connection:
            assert connection.execute(question).fetchall() == [(1_000, 1_000)]
