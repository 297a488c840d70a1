"""Tests that the shipped proxies pass on nothing that a visitor says about host, scheme or address."""

from __future__ import annotations

import http.client
import json
import re
import socket
import sqlite3
import ssl
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.notifications.peers import Authority
from tests.proxies import HOSTS, ON_DEMAND, WRITERS, Certificate, Proxy, is_installed, running
from tests.server import BROWSER, Server, wait_for

SECONDS = 90
LINKS, OWNERS = HOSTS
PASSWORD = "five small boats go upriver"
EVIL = "evil.example"
LONG_SENT, LONG = "\U0001f600" * 5000, "%F0%9F%98%80"
OTHER = "203.0.113.9"  # an address that no request of these tests comes from

# what the header says, and its lines
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
    """A Waypost whose dashboard has a host of its own, and a key of its API."""

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
    authority.server(LINKS)
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
        pytest.skip(f"no {name} here: install the package {name} to test the file that contrib/ has for it")
    with running(name, tmp_path_factory.mktemp(name), served.server.port, certificate) as found:
        yield found


class Client:
    """A connection that says just these lines. With `is_tls` it is one to a proxy, else to Waypost itself."""

    def __init__(self, port: int, source: str, *, is_tls: bool = True) -> None:
        line = socket.create_connection(("127.0.0.1", port), SECONDS, source_address=(source, 0))
        context = ssl.create_default_context()
        context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # by an authority of this test's
        self.line = context.wrap_socket(line, server_hostname=LINKS) if is_tls else line

    def get(self, host: str, target: str, *lines: str) -> tuple[http.client.HTTPResponse, bytes]:
        return self.send("GET", host, target, *lines)

    def send(
        self, method: str, host: str, target: str, *lines: str, body: bytes = b""
    ) -> tuple[http.client.HTTPResponse, bytes]:
        head = [f"{method} {target} HTTP/1.1", f"Host: {host}", f"User-Agent: {BROWSER}", *lines]
        with suppress(OSError):  # who is refused early may find the connection closed, and the answer there
            self.line.sendall("\r\n".join([*head, "", ""]).encode() + body)
        answer = http.client.HTTPResponse(self.line, method=method)
        answer.begin()
        return answer, answer.read()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.line.close()


def seen(client: Client, key: str, lines: Sequence[str]) -> dict[str, object]:
    """What Waypost takes host and scheme for, by what it answers; and a try whose network it logs."""
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


def test_forty_forged_headers(served: Served, proxy: Proxy) -> None:
    """Each comes from a network of its own, which is the one that the audit log has for its wrong key."""
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
    """So that the test above shows something."""
    with Client(served.server.port, "127.0.0.1", is_tls=False) as client:
        assert seen(client, served.key, ["X-Forwarded-Proto: https"]) == TRUE
        for name in ("the dashboard's host", "a scheme", "an address"):
            changed = seen(client, served.key, FORGED[name])
            assert changed != TRUE, name
    wait_for(lambda: "network=203.0.113.0/24" in served.server.written(), "the network that was made up")


@pytest.mark.parametrize("target", [f"https://{LINKS}/login", f"https://{LINKS}/hot"])
def test_the_host_of_an_absolute_target_is_the_one(proxy: Proxy, target: str) -> None:
    """RFC 9112, 3.2.2: the field `Host` is ignored then. What chooses the proxy's rules is what Waypost sees."""
    with Client(proxy.port, "127.0.0.1") as client:
        answer, _ = client.get(OWNERS, target)
    assert answer.status == (404 if target.endswith("/login") else 302)


def test_a_long_destination_arrives(proxy: Proxy) -> None:
    """60 kB in one header, of which nginx takes 4 unless told otherwise."""
    with Client(proxy.port, "127.0.0.1") as client:
        answer, _ = client.get(LINKS, "/long")
    assert (answer.status, answer.headers["Location"]) == (
        302,
        "https://example.com/" + LONG * len(LONG_SENT),
    )


class Browser:
    """An owner's browser, which keeps cookies and the token of the last page."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.cookies: dict[str, str] = {}
        self.token = ""

    def open(self, method: str, target: str, body: bytes = b"", content_type: str = "") -> int:
        lines = [f"Cookie: {'; '.join(f'{name}={value}' for name, value in self.cookies.items())}"]
        if method == "POST":
            lines += [f"Origin: https://{OWNERS}", f"Content-Type: {content_type}"]
            lines += [f"X-CSRFToken: {self.token}", f"Content-Length: {len(body)}"]
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


def test_files_to_import_may_be_large(proxy: Proxy) -> None:
    """Over the 10 MiB that the proxies allow elsewhere; signed in, with cookies and origin as a browser has."""
    head = b'--x\r\nContent-Disposition: form-data; name="file"; filename="links.csv"\r\n\r\n'
    body = head + b"url,location_url\n" + b" " * 11 * 1024 * 1024 + b"\r\n--x--\r\n"
    with Client(proxy.port, "127.0.0.1") as client:
        browser = Browser(client)
        browser.sign_in()
        assert browser.open("GET", "/dashboard/imports/") == 200
        status = browser.open("POST", "/dashboard/imports/", body, "multipart/form-data; boundary=x")
    assert status == 303


# --- certificates on demand, and HTTP/2


def shake_hands(port: int, host: str) -> str | None:
    """The protocol that was agreed on with a proxy for this name. Raises ssl.SSLError, OSError."""
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE  # by an authority of this test's
    context.set_alpn_protocols(["h2", "http/1.1"])
    with (
        socket.create_connection(("127.0.0.1", port), SECONDS) as line,
        context.wrap_socket(line, server_hostname=host) as secure,
    ):
        return secure.selected_alpn_protocol()


def test_http_2_is_spoken(proxy: Proxy) -> None:
    assert shake_hands(proxy.port, LINKS) == "h2"


def test_caddy_fetches_certificates_for_verified_domains_only(served: Served, tmp_path: Path) -> None:
    if not is_installed("caddy"):
        pytest.skip("no caddy here: install the package caddy to test the file that contrib/ has for it")
    for host, is_verified in (("brand.example", True), ("claimed.example", False)):
        give_domain(served.server.data_dir, host, is_verified=is_verified)
    with running(ON_DEMAND, tmp_path, served.server.port) as caddy:
        for host in ("go.example", OWNERS, "brand.example"):
            assert shake_hands(caddy.port, host) == "h2", host
        for host in ("claimed.example", EVIL, "x.brand.example"):
            with pytest.raises((ssl.SSLError, OSError)):
                shake_hands(caddy.port, host)


def give_domain(data_dir: Path, host: str, *, is_verified: bool) -> None:
    """A domain as it is once its owner has proved it, or not yet: on this machine there is no DNS to do so."""
    row = {
        "user_id": 1, "host": host, "scheme": "https://", "is_enabled": True, "is_verified": is_verified, "token": "t",
        "datetime": "2026-01-01 00:00:00.000000",
    }  # fmt: skip
    with closing(sqlite3.connect(data_dir / "main.db")) as database, database:
        names = ", ".join(row)
        database.execute(f"INSERT INTO domain ({names}) VALUES (:{', :'.join(row)})", row)
        database.execute("INSERT INTO plan_change (datetime) VALUES (:datetime)", row)
