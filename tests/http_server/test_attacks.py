"""Attacks by strangers' connections: redirects, the health check and all else are still answered."""

from __future__ import annotations

import http.client
import json
import os
import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from app.http_server import request_bodies
from app.web.security_headers import HSTS
from tests.crowds import Owner
from tests.http_server.slow_clients import DrippingClients
from tests.server import BROWSER, Server, wait_for

pytestmark = pytest.mark.full

CONNECTIONS = 500
SECONDS = 90


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    server = Server(tmp_path_factory.mktemp("attacks") / "data").start()
    owner = Owner(server)
    owner.make_link(url="hot", location_url="https://example.com/there")
    owner.make_link(url="limited", location_url="https://example.com/there", clicks_limit=100_000)
    yield owner
    server.stop()


def ask(
    server: Server,
    method: str,
    path: str,
    body: bytes | None = None,
    source: str = "127.0.0.1",
    **headers: str,
) -> http.client.HTTPResponse:
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS, source_address=(source, 0))
    line.request(method, path, body, {"User-Agent": BROWSER, **headers})
    answer = line.getresponse()
    answer.read()
    line.close()
    return answer


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def require_service(server: Server) -> None:
    """Check that redirects, health checks, the API and sign-in are answered."""
    for _ in range(20):
        assert ask(server, "GET", "/hot").status == 302
        assert ask(server, "GET", "/limited").status == 302
        assert ask(server, "GET", "/nowhere").status == 404
        assert ask(server, "GET", "/healthz").status == 200
    assert ask(server, "GET", "/readyz").status == 200
    assert ask(server, "GET", "/login").status == 200
    assert ask(server, "POST", "/login", b"x=1", "127.0.0.2", **FORM).status == 303
    assert (
        ask(server, "POST", "/api/links", b"x=1", "127.0.0.2", Authorization="Bearer x", **FORM).status == 401
    )
    # from the attacker's own network, a body that comes at once soon takes the place of one that drips
    wait_for(lambda: ask(server, "POST", "/login", b"x=1", **FORM).status == 303, "an answer to a form")


HEADS = {
    "of a length": b"POST /login HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
    "in chunks": b"POST /login HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n3e8\r\n",
    "to a link": b"POST /hot HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n",
    "to the API": b"POST /api/links HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer x\r\nContent-Length: 1000\r\n\r\n",
}


@pytest.mark.parametrize("head", HEADS.values(), ids=HEADS)
def test_five_hundred_bodies_that_drip(owner: Owner, head: bytes) -> None:
    """Slow bodies occupy their own bounded places. Those without a place are refused at once."""
    with DrippingClients(owner.server.port, head, CONNECTIONS) as clients:
        require_service(owner.server)
        refused = CONNECTIONS - request_bodies.MAX_BODIES
        wait_for(lambda: len(clients.answers) >= refused, "an answer to those without a place")
    told = [answer for answer in clients.answers if answer]
    assert len(told) > 0.9 * len(clients.answers), "hardly any connection is reset before its answer is read"
    assert {answer.split()[1] for answer in told} == {b"503"}
    assert all(b"retry-after: " in answer for answer in told)
    wait_for(lambda: ask(owner.server, "GET", "/healthz").status == 200, "a server without them")


def test_a_silent_body_is_told_that_it_took_too_long(owner: Owner) -> None:
    with socket.create_connection(("127.0.0.1", owner.server.port), timeout=SECONDS) as line:
        line.sendall(HEADS["of a length"] + b"email=")
        answer = read_all(line)
    assert answer.startswith(b"HTTP/1.1 408 ")
    assert b"connection: close" in answer.lower()


def read_all(line: socket.socket) -> bytes:
    return b"".join(iter(lambda: line.recv(65536), b""))


@contextmanager
def many_connections(server: Server, sent: bytes, count: int) -> Iterator[list[socket.socket]]:
    with ExitStack() as opened:
        lines = []
        for _ in range(count):
            line = socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS)
            lines.append(opened.enter_context(line))
            line.sendall(sent)
        yield lines


IDLE = {
    "that say nothing": b"",
    "in the middle of a head": b"GET /hot HTTP/1.1\r\nHo",
    "kept after an answer": b"GET /healthz HTTP/1.1\r\nHost: a\r\n\r\n",
}


@pytest.mark.parametrize("sent", IDLE.values(), ids=IDLE)
def test_a_thousand_connections(owner: Owner, sent: bytes) -> None:
    """Idle connections keep no other client out, and are ended by the server."""
    with many_connections(owner.server, sent, 1000) as lines:
        require_service(owner.server)
        for line in (lines[0], lines[-1]):
            while line.recv(65536):
                pass


def web_process(server: Server) -> int:
    assert server.process
    found = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    pids = [int(pid) for path in found for pid in path.read_text().split()]
    return next(pid for pid in pids if "worker" not in Path(f"/proc/{pid}/comm").read_text())


def test_readers_who_do_not_read(owner: Owner) -> None:
    """A large answer that its client does not read holds no thread."""
    asked = b"GET /static/app.css HTTP/1.1\r\nHost: a\r\n\r\n" * 20
    page = b"GET /login HTTP/1.1\r\nHost: a\r\n\r\n" * 20
    for sent in (asked, page):
        with many_connections(owner.server, sent, 100):
            require_service(owner.server)


LONG_HOSTS = {
    "over 261 characters": "a" * 262,
    "60 kB": "a" * 60_000,
    "a space": "a b",
    "a slash": "a/b",
    "user information": "u@a",
    "a port that is none": "a:b",
    "no IPv6": "[::1",
    "a comma": "a,b",
    "raw UTF-8": "gö",
}


@pytest.mark.parametrize("path", ["/hot", "/login", "/api/links", "/nowhere"])
@pytest.mark.parametrize("host", LONG_HOSTS.values(), ids=LONG_HOSTS)
def test_what_is_no_host(owner: Owner, host: str, path: str) -> None:
    with socket.create_connection(("127.0.0.1", owner.server.port), timeout=SECONDS) as line:
        line.sendall(f"GET {path} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
        head, _, body = read_all(line).partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    is_api = path.startswith("/api")
    assert (b"application/problem+json" if is_api else b"text/html") in head
    assert b"x-request-id: " in head
    assert not is_api or json.loads(body)["errors"][0]["code"] == "malformed"


HOSTS = ["localhost", "a", "A.example:80", "127.0.0.1:8000", "[::1]:8000", "under_score", "go.example.", "a:"]


@pytest.mark.parametrize("host", HOSTS)
def test_what_is_a_host(owner: Owner, host: str) -> None:
    assert ask(owner.server, "GET", "/hot", Host=host).status == 302


def test_http_1_0_needs_no_host(owner: Owner) -> None:
    with socket.create_connection(("127.0.0.1", owner.server.port), timeout=SECONDS) as line:
        line.sendall(f"GET /hot HTTP/1.0\r\nUser-Agent: {BROWSER}\r\n\r\n".encode())
        assert read_all(line).startswith(b"HTTP/1.0 302 ")


def test_a_proxys_word_for_the_host_is_judged_as_well(make_server: Callable[..., Server]) -> None:
    server = make_server(TRUSTED_PROXIES="1")
    assert ask(server, "GET", "/nowhere", **{"X-Forwarded-Host": "go.example"}).status == 404
    for host in ("a b", "x" * 262, "go.example, u@a"):
        assert ask(server, "GET", "/nowhere", **{"X-Forwarded-Host": host}).status == 400
    # a refusal before the application has the HSTS header of all answers by https
    for scheme, value in (("https", HSTS[1]), ("http", None)):
        told = {"X-Forwarded-Host": "a b", "X-Forwarded-Proto": scheme}
        assert ask(server, "GET", "/nowhere", **told).headers["Strict-Transport-Security"] == value


def test_a_flood_of_hosts_leaves_nothing_behind(owner: Owner) -> None:
    """The known attack: 3,000 hosts of 60 kB, which once kept 169 MiB in memory; and 20,000 valid hosts."""
    before = memory(owner.server)
    send_hosts(owner.server, (f"{number:05}" * 12_000 for number in range(3000)), b"400")
    send_hosts(owner.server, (f"{number:05}." * 40 + "example" for number in range(20_000)), b"302")
    assert memory(owner.server) - before < 48 * 1024 * 1024


def send_hosts(server: Server, hosts: Iterator[str], status: bytes) -> None:
    agent = f"User-Agent: {BROWSER}".encode()
    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as line:
        for host in hosts:
            line.sendall(b"GET /hot HTTP/1.1\r\nHost: %b\r\n%b\r\n\r\n" % (host.encode(), agent))
            answer = line.recv(65536)
            assert answer.split()[1] == status
            while b"content-length: " in answer and len(answer.partition(b"\r\n\r\n")[2]) < length(answer):
                answer += line.recv(65536)


def length(answer: bytes) -> int:
    return int(answer.partition(b"content-length: ")[2].split(b"\r\n")[0])


def memory(server: Server) -> int:
    """The anonymous resident memory of the web process, in bytes."""
    lines = Path(f"/proc/{web_process(server)}/status").read_text().splitlines()
    found = next(line for line in lines if line.startswith("RssAnon:"))
    return int(found.split()[1]) * 1024


def test_descriptors_are_raised_to_what_the_system_allows(owner: Owner) -> None:
    lines = Path(f"/proc/{web_process(owner.server)}/limits").read_text().splitlines()
    soft, hard = next(line.split()[3:5] for line in lines if line.startswith("Max open files"))
    assert soft == hard
    assert os.sysconf("SC_OPEN_MAX") > 0
