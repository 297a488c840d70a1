"""The shipped proxy configurations: forged headers, large bodies, certificates and HTTP/2."""

from __future__ import annotations

import http.client
import json
import re
import select
import socket
import sqlite3
import ssl
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

import pytest

from app.http_server.request_bodies import DISCARD_SECONDS, MAX_DISCARDS
from tests.notifications.peers import Authority
from tests.proxies import HOSTS, ON_DEMAND, WRITERS, Certificate, Proxy, is_installed, running
from tests.server import BROWSER, Server, wait_for

SECONDS = 90
LINKS, OWNERS = HOSTS
PASSWORD = "five small boats go upriver"
EVIL = "evil.example"
LONG_SENT, LONG = "\U0001f600" * 5000, "%F0%9F%98%80"
OTHER = "203.0.113.9"  # an address from which no request of these tests comes

# what is forged, and the header lines
FORGED: dict[str, tuple[str, ...]] = {
    "the dashboard's host": (f"X-Forwarded-Host: {OWNERS}",),
    "another host": (f"X-Forwarded-Host: {EVIL}",),
    "a host, twice": (f"X-Forwarded-Host: {LINKS}", f"X-Forwarded-Host: {OWNERS}"),
    "a list of hosts": (f"X-Forwarded-Host: {LINKS}, {OWNERS}",),
    "a host with a port": (f"X-Forwarded-Host: {OWNERS}:443",),
    "a host in capitals": (f"X-FORWARDED-HOST: {OWNERS.upper()}",),
    "an empty host": ("X-Forwarded-Host:",),
    "a host after a tab": (f"X-Forwarded-Host:\t{OWNERS}",),
    "a host with an underscore": (f"X_Forwarded_Host: {OWNERS}",),
    "a host that is none": ("X-Forwarded-Host: a b",),
    "a host that is dropped on the way": (f"X-Forwarded-Host: {OWNERS}", "Connection: X-Forwarded-Host"),
    "Host dropped on the way": ("Connection: Host, keep-alive",),
    "a server": (f"X-Forwarded-Server: {OWNERS}",),
    "the original host": (f"X-Original-Host: {OWNERS}",),
    "an override of the host": (f"X-HTTP-Host-Override: {OWNERS}",),
    "X-Host": (f"X-Host: {OWNERS}",),
    "the original address": ("X-Original-URL: /dashboard/",),
    "a rewritten address": ("X-Rewrite-URL: /dashboard/",),
    "Forwarded": (f"Forwarded: for={OTHER};host={OWNERS};proto=http",),
    "an address": (f"X-Forwarded-For: {OTHER}",),
    "an address, twice": (f"X-Forwarded-For: {OTHER}", f"X-Forwarded-For: {OTHER}"),
    "a list of addresses": (f"X-Forwarded-For: {OTHER}, {OTHER}",),
    "an address of IPv6": ("X-Forwarded-For: 2001:db8::9",),
    "an address with a port": (f"X-Forwarded-For: {OTHER}:80",),
    "an address with an underscore": (f"X_Forwarded_For: {OTHER}",),
    "an address that is none": ("X-Forwarded-For: unknown, _hidden",),
    "an address that is dropped on the way": (f"X-Forwarded-For: {OTHER}", "Connection: X-Forwarded-For"),
    "X-Real-IP": (f"X-Real-IP: {OTHER}",),
    "True-Client-IP": (f"True-Client-IP: {OTHER}",),
    "CF-Connecting-IP": (f"CF-Connecting-IP: {OTHER}",),
    "X-Client-IP": (f"X-Client-IP: {OTHER}",),
    "a scheme": ("X-Forwarded-Proto: http",),
    "a scheme, twice": ("X-Forwarded-Proto: http", "X-Forwarded-Proto: http"),
    "a list of schemes": ("X-Forwarded-Proto: https, http",),
    "a scheme with an underscore": ("X_Forwarded_Proto: http",),
    "a scheme that is dropped on the way": ("X-Forwarded-Proto: http", "Connection: X-Forwarded-Proto"),
    "X-Forwarded-Ssl": ("X-Forwarded-Ssl: off", "X-Forwarded-Scheme: http", "Front-End-Https: off"),
    "a port": ("X-Forwarded-Port: 8000",),
    "a prefix": ("X-Forwarded-Prefix: /evil", "X-Script-Name: /evil"),
    "another method": ("X-HTTP-Method-Override: DELETE", "X-HTTP-Method: DELETE"),
}


class Served(NamedTuple):
    """A Waypost whose dashboard has a host of its own, and an API key."""

    server: Server
    key: str


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    directory = tmp_path_factory.mktemp("proxies") / "data"
    server = Server(directory, TRUSTED_PROXIES="1", DASHBOARD_URL=f"https://{OWNERS}").start()
    who = ("--email", "owner@example.com")
    server.flask("users", "create", *who, "--password-stdin", stdin=f"{PASSWORD}\n")
    key = server.flask("keys", "create", *who, "--name", "test").strip()
    line = http.client.HTTPConnection("127.0.0.1", server.port, timeout=SECONDS)
    headers = {"Host": OWNERS, "Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    for url, path in (("hot", "there"), ("long", LONG_SENT)):
        body = json.dumps({"url": url, "location_url": f"https://example.com/{path}"})
        line.request("POST", "/api/links", body, headers)
        answer = line.getresponse()
        assert (answer.status, answer.read()[:5]) == (201, b'{"dat')
    line.close()
    yield Served(server, key)
    server.stop()


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Certificate:
    authority = Authority(tmp_path_factory.mktemp("certificate"))
    authority.server(LINKS, others=[OWNERS])
    (pem,) = authority.folder.glob(f"{LINKS}-*.pem")
    return Certificate(pem, pem)


@pytest.fixture(scope="module", params=WRITERS)
def proxy(
    request: pytest.FixtureRequest,
    served: Served,
    certificate: Certificate,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Proxy]:
    name: str = request.param
    if not is_installed(name):
        pytest.skip(f"no {name} here: install the package {name} to test the file that deploy/ has for it")
    with running(name, tmp_path_factory.mktemp(name), served.server.port, certificate) as found:
        yield found


class Client:
    """Connections that send exactly the given lines: to a proxy with `is_tls`, else to Waypost itself.

    There is one for each host, which over TLS is the name it asks for.
    """

    def __init__(self, port: int, source: str, *, is_tls: bool = True) -> None:
        self.port, self.source, self.is_tls = port, source, is_tls
        self.lines: dict[str, socket.socket] = {}

    def line_to(self, host: str) -> socket.socket:
        if host not in self.lines:
            self.lines[host] = self.connect(host)
        return self.lines[host]

    def connect(self, host: str) -> socket.socket:
        line = socket.create_connection(("127.0.0.1", self.port), SECONDS, source_address=(self.source, 0))
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # by an authority of this test's
        context.maximum_version = ssl.TLSVersion.TLSv1_2  # then only answers follow the handshake
        return context.wrap_socket(line, server_hostname=host) if self.is_tls else line

    def get(self, host: str, target: str, *lines: str) -> tuple[http.client.HTTPResponse, bytes]:
        return self.send("GET", host, target, *lines)

    def send(
        self, method: str, host: str, target: str, *lines: str, body: bytes = b""
    ) -> tuple[http.client.HTTPResponse, bytes]:
        head = [f"{method} {target} HTTP/1.1", f"Host: {host}", f"User-Agent: {BROWSER}", *lines]
        line = self.line_to(urlsplit(target).hostname or host)
        with suppress(OSError):  # an early refusal closes the connection, but its answer is there
            line.sendall("\r\n".join([*head, "", ""]).encode() + body)
        answer = http.client.HTTPResponse(line, method=method)
        answer.begin()
        return answer, answer.read()

    def stream(
        self, method: str, host: str, target: str, *lines: str, pieces: Iterable[bytes]
    ) -> tuple[int, bytes]:
        """Send a body a piece at a time, until all is sent or the answer is there."""
        head = [f"{method} {target} HTTP/1.1", f"Host: {host}", f"User-Agent: {BROWSER}", *lines]
        line = self.line_to(host)
        with suppress(OSError):
            line.sendall("\r\n".join([*head, "", ""]).encode())
            for piece in pieces:
                if select.select([line], [], [], 0)[0]:
                    break
                line.sendall(piece)
        answer = http.client.HTTPResponse(line, method=method)
        answer.begin()
        return answer.status, answer.read()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        for line in self.lines.values():
            line.close()


def seen(client: Client, key: str, lines: Sequence[str]) -> dict[str, object]:
    """The host and scheme that Waypost sees, by its answers. A wrong key makes it log the network as well."""
    login, _ = client.get(LINKS, "/login", *lines)
    hot, _ = client.get(LINKS, "/hot", *lines)
    _, links = client.get(OWNERS, "/api/links", f"Authorization: Bearer {key}", *lines)
    wrong, _ = client.get(OWNERS, "/api/links", "Authorization: Bearer wrong", *lines)
    return {
        "the dashboard on the links' host": login.status,
        "the redirect": (hot.status, hot.headers["Location"]),
        "HSTS": [answer.headers["Strict-Transport-Security"] is not None for answer in (login, hot, wrong)],
        "origins in the API": set(re.findall(r'https?://[^/"]*', links.decode())),
        "a wrong key": wrong.status,
    }


TRUE: dict[str, object] = {
    "the dashboard on the links' host": 404,
    "the redirect": (302, "https://example.com/there"),
    "HSTS": [True, True, True],
    "origins in the API": {f"https://{OWNERS}", "https://example.com"},
    "a wrong key": 401,
}


@pytest.mark.full
def test_forty_forged_headers(served: Served, proxy: Proxy) -> None:
    """Each request comes from a network of its own. The audit log has exactly this one for its wrong key."""
    assert len(FORGED) == 40
    found: dict[str, dict[str, object]] = {}
    networks = {}
    for number, (name, lines) in enumerate(FORGED.items(), 1):
        network = f"127.{list(WRITERS).index(proxy.name) + 1}.{number}"
        networks[name] = f"network={network}.0/24"
        with Client(proxy.port, f"{network}.1") as client:
            found[name] = seen(client, served.key, lines)
    assert {name: each for name, each in found.items() if each != TRUE} == {}
    for name, network in networks.items():
        wait_for(lambda network=network: network in served.server.written(), f"the network of {name}")  # type: ignore[misc]


def test_without_a_proxy_they_would_be_believed(served: Served) -> None:
    """Sent to Waypost directly the forged headers work. Otherwise the test above would prove nothing."""
    with Client(served.server.port, "127.0.0.1", is_tls=False) as client:
        assert seen(client, served.key, ["X-Forwarded-Proto: https"]) == TRUE
        for name in ("the dashboard's host", "a scheme", "an address"):
            changed = seen(client, served.key, FORGED[name])
            assert changed != TRUE, name
    wait_for(lambda: "network=203.0.113.0/24" in served.server.written(), "the network that was made up")


# of another host's /hot, of the dashboard's, and of the links' own, over a connection for the latter
MISDIRECTED = {"nginx": [302, 404, 302], "caddy": [421, 421, 302]}


def test_a_connection_for_one_name(proxy: Proxy) -> None:
    """Caddy has certificates for many names: of them a connection opens its own alone. nginx has one site."""
    with Client(proxy.port, "127.0.0.1") as client:
        client.lines[EVIL] = client.lines[OWNERS] = client.line_to(LINKS)
        statuses = [client.get(host, "/hot")[0].status for host in (EVIL, OWNERS, LINKS)]
    assert statuses == MISDIRECTED[proxy.name]


@pytest.mark.parametrize("target", [f"https://{LINKS}/login", f"https://{LINKS}/hot"])
def test_the_host_of_an_absolute_target_is_the_one(proxy: Proxy, target: str) -> None:
    """RFC 9112, 3.2.2: `Host` is ignored then. Waypost sees the host that chooses the proxy's rules."""
    with Client(proxy.port, "127.0.0.1") as client:
        answer, _ = client.get(OWNERS, target)
    assert answer.status == (404 if target.endswith("/login") else 302)


def test_a_long_destination_arrives(proxy: Proxy) -> None:
    """60 kB in one header; nginx takes 4 kB by default."""
    with Client(proxy.port, "127.0.0.1") as client:
        answer, _ = client.get(LINKS, "/long")
    assert (answer.status, answer.headers["Location"]) == (
        302,
        "https://example.com/" + LONG * len(LONG_SENT),
    )


class Browser:
    """An owner's browser, which keeps cookies and the CSRF token of the last page."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.cookies: dict[str, str] = {}
        self.token = ""

    def lines(self, method: str, length: int, content_type: str) -> list[str]:
        found = [f"Cookie: {'; '.join(f'{name}={value}' for name, value in self.cookies.items())}"]
        if method == "POST":
            found += [f"Origin: https://{OWNERS}", f"Content-Type: {content_type}"]
            found += [f"X-CSRFToken: {self.token}", f"Content-Length: {length}"]
        return found

    def open(self, method: str, target: str, body: bytes = b"", content_type: str = "") -> int:
        lines = self.lines(method, len(body), content_type)
        answer, page = self.client.send(method, OWNERS, target, *lines, body=body)
        for line in answer.headers.get_all("Set-Cookie", []):
            name, _, value = line.partition(";")[0].partition("=")
            self.cookies[name] = value
        if found := re.search(rb'name="csrf_token" value="([^"]+)"', page):
            self.token = found[1].decode()
        return answer.status

    def sign_in(self) -> None:
        self.open("GET", "/login")
        form = f"csrf_token={self.token}&email=owner%40example.com&password={PASSWORD.replace(' ', '+')}"
        assert self.open("POST", "/login", form.encode(), "application/x-www-form-urlencoded") == 303


IMPORTS = "/dashboard/imports/"
HEAD = b'--x\r\nContent-Disposition: form-data; name="file"; filename="links.csv"\r\n\r\n'
TAIL = b"\r\n--x--\r\n"
MIB = 1024 * 1024


def pieces_of(size: int) -> Iterator[bytes]:
    """So many bytes of white space."""
    for start in range(0, size, MIB):
        yield b" " * min(MIB, size - start)


def in_chunks(pieces: Iterable[bytes]) -> Iterator[bytes]:
    for piece in pieces:
        yield b"%x\r\n%b\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"


def import_file(client: Client, size: int) -> tuple[int, bytes]:
    """Upload a table with so much white space, signed in, with the cookies and origin of a browser."""
    browser = Browser(client)
    browser.sign_in()
    assert browser.open("GET", IMPORTS) == 200
    start = HEAD + b"url,location_url\nfoo,https://example.com/\n"
    lines = browser.lines("POST", len(start) + size + len(TAIL), "multipart/form-data; boundary=x")
    return client.stream("POST", OWNERS, IMPORTS, *lines, pieces=chain([start], pieces_of(size), [TAIL]))


@pytest.mark.parametrize(
    "size", [11 * MIB, pytest.param(1024 * MIB - 100 * 1024, marks=pytest.mark.full)], ids=["11 MiB", "1 GiB"]
)
def test_files_to_import_may_be_large(proxy: Proxy, size: int) -> None:
    with Client(proxy.port, "127.0.0.1") as client:
        status, page = import_file(client, size)
    assert status == 303, page


def test_a_file_that_is_too_large_to_import_is_refused_by_waypost(proxy: Proxy) -> None:
    with Client(proxy.port, "127.0.0.1") as client:
        status, page = import_file(client, 1030 * MIB)
    assert (status, b"A file may have at most 1 GiB." in page) == (413, True), page


@pytest.mark.full
@pytest.mark.parametrize("is_chunked", [False, True], ids=["by its length", "in chunks"])
@pytest.mark.parametrize("size", [10 * MIB + 1, 11 * MIB, 70 * MIB, 3000 * MIB])
def test_a_body_that_is_too_large_is_refused_in_the_apis_own_shape(
    served: Served, proxy: Proxy, size: int, is_chunked: bool
) -> None:
    lines = [f"Authorization: Bearer {served.key}", "Content-Type: application/json"]
    lines.append("Transfer-Encoding: chunked" if is_chunked else f"Content-Length: {size}")

    def send() -> tuple[int, bytes]:
        pieces = in_chunks(pieces_of(size)) if is_chunked else pieces_of(size)
        with Client(proxy.port, "127.0.0.1") as client:
            return client.stream("POST", OWNERS, "/api/links", *lines, pieces=pieces)

    status, body = send()
    for _ in range(MAX_DISCARDS):
        if status == 502:  # the tests before may have taken all places of refused bodies, each for a second
            time.sleep(DISCARD_SECONDS)
            status, body = send()
    problem = json.loads(body)
    assert (status, problem["status"], problem["instance"]) == (413, 413, "/api/links")
    assert [(error["code"], error["status"]) for error in problem["errors"]] == [("too_large", 413)]


def test_a_body_of_ten_megabytes_is_taken(served: Served, proxy: Proxy) -> None:
    """The largest body that the contract allows is read whole. It is refused for its missing field alone."""
    lines = [f"Authorization: Bearer {served.key}", "Content-Type: application/json"]
    start, end = b'{"notes":', b'""}'
    size = 10 * MIB - len(start + end)
    pieces = chain([start], pieces_of(size), [end])
    with Client(proxy.port, "127.0.0.1") as client:
        status, body = client.stream(
            "POST", OWNERS, "/api/links", *lines, f"Content-Length: {10 * MIB}", pieces=pieces
        )
    assert (status, [error["field"] for error in json.loads(body)["errors"]]) == (422, ["location_url"])


# --- certificates on demand, and HTTP/2


def shake_hands(port: int, host: str) -> str | None:
    """The protocol negotiated with a proxy for this name. Raises ssl.SSLError, OSError."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # by an authority of this test's
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("127.0.0.1", port), SECONDS) as line,
        context.wrap_socket(line, server_hostname=host) as secure,
    ):
        return secure.selected_alpn_protocol()


def has_certificate(port: int, host: str) -> bool:
    """Whether the proxy has a certificate. One made on demand may be late for the first handshake."""
    try:
        return shake_hands(port, host) == "h2"
    except (ssl.SSLError, OSError):
        return False


def test_http_2_is_spoken(proxy: Proxy) -> None:
    assert shake_hands(proxy.port, LINKS) == "h2"


def test_caddy_fetches_certificates_for_verified_domains_only(served: Served, tmp_path: Path) -> None:
    if not is_installed("caddy"):
        pytest.skip("no caddy here: install the package caddy to test the file that deploy/ has for it")
    for host, is_verified in (("brand.example", True), ("claimed.example", False)):
        give_domain(served.server.data_dir, host, is_verified=is_verified)
    with running(ON_DEMAND, tmp_path, served.server.port) as caddy:
        for host in ("go.example", OWNERS, "brand.example"):
            wait_for(lambda host=host: has_certificate(caddy.port, host), f"a certificate for {host}")  # type: ignore[misc]
        for host in ("claimed.example", EVIL, "x.brand.example"):
            with pytest.raises((ssl.SSLError, OSError)):
                shake_hands(caddy.port, host)


def give_domain(data_dir: Path, host: str, *, is_verified: bool) -> None:
    """Add a verified or unverified domain to the database: tests have no DNS to verify it by."""
    row = {
        "workspace_id": 1, "user_id": 1, "host": host, "scheme": "https://", "is_enabled": True, "is_verified": is_verified, "token": "t",
        "datetime": "2026-01-01 00:00:00.000000",
    }  # fmt: skip
    with closing(sqlite3.connect(data_dir / "main.db")) as database, database:
        names = ", ".join(row)
        database.execute(f"INSERT INTO domain ({names}) VALUES (:{', :'.join(row)})", row)
        database.execute("INSERT INTO plan_change (datetime) VALUES (:datetime)", row)
