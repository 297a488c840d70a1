"""Malicious requests and a locked database on a real server: the statistics stay correct."""

from __future__ import annotations

import html
import json
import re
import socket
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest
import requests

from app.analytics.ingest import Ingest
from app.journal import codec as journal_codec
from app.journal.codec import LIMIT, Visit
from tests.analytics.conftest import Tables, take_in
from tests.crowds import Owner
from tests.server import BROWSER, Server, wait_for

SCRIPT = b"<script>alert(1)</script>"
AGENT = BROWSER.encode()
BULLET = "•".encode()
# a name for each case; the visitor's user agent, and their referrer
SENT: dict[str, tuple[bytes, bytes]] = {
    "script": (SCRIPT + AGENT, b"https://news.example/" + SCRIPT),
    "markup for a host": (AGENT, b'https://"><img src=x onerror=alert(1)>/'),
    "control characters": (AGENT + b"\x01\x02\x1b[31m\x7f", b"https://news.example/\x01\x1b[2J\x7f"),
    "tabs": (AGENT + b"\tx\ty", b"https://news.example/a\tb"),
    "invalid UTF-8": (AGENT + b"\xff\xfe\xc3\x28", b"https://news.example/\xff\xc3\x28\xed\xa0\x80"),
    "separators of lines": (AGENT + "\u2028\u2029\x85".encode(), "https://news.example/\u2028x".encode()),
    "64 kB of an agent": (AGENT + b"a" * 65_536, b"https://news.example/"),
    "64 kB of a referrer": (AGENT, b"https://news.example/" + b"r" * 65_536),
    "64 kB of three bytes each": (AGENT, b"https://news.example/" + BULLET * 21_845),
    "a formula": (AGENT, b"https://news.example/=cmd|' /C calc'!A0"),
    "no address": (AGENT, b"javascript:alert(1)//news.example/"),
}


def ask(port: int, agent: bytes, referrer: bytes) -> int:
    """The status of the answer to a request whose bytes are sent unchanged; 0 if there was none."""
    lines = [b"GET /hostile HTTP/1.1", b"Host: 127.0.0.1:%d" % port, b"User-Agent: " + agent]
    lines += [b"Referer: " + referrer, b"Connection: close"]
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection:
        try:
            connection.sendall(b"\r\n".join([*lines, b"", b""]))
            answer = b"".join(iter(lambda: connection.recv(65_536), b""))
        except ConnectionError:  # a server may close the connection on such a large request
            return 0
    return int(answer.split()[1]) if answer else 0


@contextmanager
def reading(server: Server) -> Iterator[sqlite3.Connection]:
    path = f"file:{server.data_dir / 'clicks.db'}?mode=ro"
    with closing(sqlite3.connect(path, uri=True, timeout=60)) as connection:
        yield connection


def rows(server: Server, which: str = "1") -> int:
    with reading(server) as connection:
        return int(connection.execute(f"SELECT count(*) FROM click WHERE {which}").fetchone()[0])


def terms(server: Server, column: str) -> set[str]:
    with reading(server) as connection:
        wanted = f"SELECT DISTINCT value FROM click JOIN term ON term.id = {column}"
        return {row[0] for row in connection.execute(wanted)}


def signed_in(server: Server) -> requests.Session:
    session = requests.Session()
    session.trust_env = False
    token = re.search(r'name="csrf_token" value="([^"]+)"', session.get(f"{server.url}/login").text)
    assert token
    data = {"csrf_token": token[1], "email": "owner@example.com", "password": "five small boats go upriver"}
    assert session.post(f"{server.url}/login", data).url.startswith(f"{server.url}/dashboard/")
    return session


@pytest.mark.full
def test_what_visitors_send_and_a_locked_database(make_server: Callable[..., Server]) -> None:
    server = make_server()
    owner = Owner(server)
    link = owner.make_link(url="hostile", location_url="https://a.example/")
    answers = {name: ask(server.port, *sent) for name, sent in SENT.items()}
    assert set(answers.values()) <= {302, 400, 431, 0}, answers
    taken = [name for name, status in answers.items() if status == 302]
    assert {"script", "invalid UTF-8", "a formula", "no address", "markup for a host"} <= {*taken}
    wait_for(lambda: rows(server) == len(taken), "the rows")
    people = rows(server, "NOT is_bot")  # some of the user agents count as bots
    assert owner.clicks(link) == people >= 6

    agents, hosts, paths = (
        terms(server, f"{name}_id") for name in ("agent", "referrer_host", "referrer_path")
    )
    assert hosts == {"news.example"}, "what is no host is nowhere that anybody came from"
    for name, texts in (("agent", agents), ("referrer_host", hosts), ("referrer_path", paths)):
        assert texts
        for text in texts:
            assert text == journal_codec.clean(text), "no control character, and whole characters"
            assert len(text) == len(text[LIMIT[name]])

    page = signed_in(server).get(f"{server.url}/dashboard/statistics/?whole=1&sources=referrer_path").text
    assert "<script>alert" not in page
    assert "<img src=x" not in page
    assert "alert(1)" in html.unescape(page)
    for bots, count in ((0, people), (1, len(taken) - people)):
        told = owner.session.get(f"{owner.site}/statistics?type=referrer_path&bots={bots}").json()["data"]
        assert sum(row["pageviews"] for row in told) == count
    file = owner.session.get(f"{owner.site}/statistics/clicks").content.decode()
    assert not re.search(r"(^|,)\"?[=+@]", file, re.MULTILINE)
    while_locked(server, owner, link)


def while_locked(server: Server, owner: Owner, link: int) -> None:
    """Only the worker waits for the database, and reports that; afterwards every click is counted once."""
    before, clicks = rows(server), owner.clicks(link)
    with closing(sqlite3.connect(server.data_dir / "clicks.db", isolation_level=None)) as connection:
        connection.execute("BEGIN IMMEDIATE")
        begun = time.monotonic()
        assert [ask(server.port, AGENT, b"") for _ in range(20)] == [302] * 20
        assert time.monotonic() - begun < 20
        state = wait_for(lambda: waiting(server), "what the worker waits for")
        assert state["waiting_bytes"] > 0
        assert owner.clicks(link) == clicks
        connection.execute("ROLLBACK")
    wait_for(lambda: rows(server) == before + 20, "the rows")
    assert owner.clicks(link) == clicks + 20
    assert server.written().count("Clicks wait in the journal: database is locked") == 1
    wait_for(lambda: not checked(server)["waits_for"], "the worker to go on")


def checked(server: Server) -> dict[str, Any]:
    found: dict[str, Any] = requests.get(f"{server.url}/readyz", timeout=60).json()["checks"]["journal"]
    return found


def waiting(server: Server) -> dict[str, Any] | None:
    found = checked(server)
    return found if "locked" in (found["waits_for"] or "") and found["seconds"] > 0 else None


# byte for byte as the first version wrote it, since the tested code must not produce its own expectation
OLD_LINE = (
    b"\n%s 1795000000000\t7\t1\t0\t\tAbCdEfGhIjk\tDE\tEU\tK\xc3\xb6ln\tcurl/8\tde\tnews.example\t/story"
    b"\tletter\tmail\tmay\thttps://a.example/\n"
)
OLD_SUM = b"c89d132d"


def test_a_journal_of_an_older_version(
    ingest: Ingest, tables: Tables, directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A newer version writes another format, and ingests what an older one has left."""
    directory.mkdir(exist_ok=True)
    newer = journal_codec.Format(
        lambda line: Visit(*json.loads(line)), lambda line: (json.loads(line)[1], json.loads(line)[3])
    )
    monkeypatch.setitem(journal_codec.FORMATS, ".v9", newer)
    old = OLD_LINE % OLD_SUM
    (directory / "1795000000000000000-00112233aabbccdd.v1").write_bytes(old * 3)
    line = json.dumps([1_795_000_000_001, 8, 1, 0]).encode()
    (directory / "1795000000000000001-00112233aabbccdd.v9").write_bytes(b"\n" + line + b"\n")
    take_in(ingest)
    assert tables.counters() == {7: 3, 8: 1}
    assert [link for _, link in tables.rows()] == [7, 7, 7, 8]
    assert tables.damaged() == 0
    assert {"Köln", "news.example", "/story", "https://a.example/"} <= {*tables.terms().values()}
