"""Outbound HTTP: only allowed addresses are dialled, and every exchange ends in time."""

from __future__ import annotations

import gzip
import io
import ipaddress
import os
import socket
import threading
import zlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.net import dial
from app.net import http as net_http
from app.net.http import EVERYWHERE, NoAnswer
from tests.notifications.peers import Authority, Peers, Script

LOOPBACK = (ipaddress.ip_network("127.0.0.0/8"), ipaddress.ip_network("::1/128"))
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"


@pytest.fixture
def names(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Names that the (faked) resolver knows: name → addresses."""
    known: dict[str, list[str]] = {}

    def look_up(host: str, port: int) -> list[dial.Found]:
        if host not in known:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [
            (socket.AF_INET6, (a, port, 0, 0)) if ":" in a else (socket.AF_INET, (a, port))
            for a in known[host]
        ]

    monkeypatch.setattr(dial, "look_up", look_up)
    return known


@pytest.fixture
def dialled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The addresses that were dialled. None of them answers."""
    found: list[str] = []

    def connect_to(one: dial.Found, seconds: float) -> socket.socket:
        found.append(one[1][0])
        raise ConnectionRefusedError

    monkeypatch.setattr(dial, "connect_to", connect_to)
    return found


def get(url: str, seconds: float = 5, **more: object) -> net_http.HttpResponse:
    return net_http.request("GET", url, **{"allowed": LOOPBACK, "seconds": seconds, **more})  # type: ignore[arg-type]


def failure(url: str, seconds: float = 5, **more: object) -> NoAnswer:
    with pytest.raises(NoAnswer) as caught:
        get(url, seconds, **more)
    return caught.value


# --- which addresses are dialled

# every kind is in test_networks.py
NEVER = {
    "private": "10.1.2.3",
    "metadata of a cloud": "169.254.169.254",
    "IPv6 loopback": "::1",
    "IPv6 link-local with a zone": "fe80::1%eth0",
    "mapped loopback": "::ffff:127.0.0.1",
    "NAT64 of loopback": "64:ff9b::7f00:1",
}


@pytest.mark.parametrize("address", NEVER.values(), ids=NEVER)
def test_what_is_not_public_is_never_dialled(
    address: str, names: dict[str, list[str]], dialled: list[str]
) -> None:
    names["hooks.example"] = [address]
    assert failure("http://hooks.example/", allowed=()).code == "private_address"
    assert dialled == []


@pytest.mark.parametrize("addresses", [["93.184.216.34", "10.0.0.1"], ["10.0.0.1", "2606:2800::1"]], ids=repr)
def test_one_private_address_among_public_ones_spoils_them_all(
    addresses: list[str], names: dict[str, list[str]], dialled: list[str]
) -> None:
    names["hooks.example"] = addresses
    assert failure("https://hooks.example/", allowed=()).code == "private_address"
    assert dialled == []


def test_every_public_address_is_dialled_in_turn(names: dict[str, list[str]], dialled: list[str]) -> None:
    names["hooks.example"] = ["93.184.216.34", "2606:2800:220:1::1"]
    assert failure("https://hooks.example/", allowed=()).code == "refused"
    assert dialled == ["93.184.216.34", "2606:2800:220:1::1"]


SPELLINGS = [
    "127.1",
    "2130706433",
    "0x7f.1",
    "0177.0.0.1",
    "localhost",
    "LOCALHOST.",
    "[::1]",
    "[::ffff:127.0.0.1]",
    "127。0。0。1",
]


@pytest.mark.parametrize("host", SPELLINGS)
def test_no_spelling_of_this_machine_gets_through(host: str, dialled: list[str]) -> None:
    assert failure(f"http://{host}:8188/", allowed=()).code in {"private_address", "not_resolved"}
    assert dialled == []


def test_a_public_address_of_this_machine_itself_is_not_dialled(
    peers: Peers, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dial, "is_public", lambda address, allowed=(): True)
    peer = peers.serve(peers.says(OK))
    assert failure(peer.url, allowed=()).code == "private_address"
    assert peers.heard == []


def test_an_allowed_network_is_found_in_its_ipv6_wrapping(
    names: dict[str, list[str]], dialled: list[str]
) -> None:
    names["hooks.example"] = ["::ffff:127.0.0.1"]
    assert failure("http://hooks.example/").code == "refused"
    assert dialled == ["::ffff:127.0.0.1"]


def test_allowed_networks_are_dialled(peers: Peers) -> None:
    peer = peers.serve(peers.says(OK))
    assert get(peer.url).body == b"hello"
    elsewhere = (ipaddress.ip_network("10.0.0.0/8"),)
    assert failure(peer.url, allowed=elsewhere).code == "private_address"


@pytest.mark.parametrize(
    "address", ["127.0.0.1", "10.0.0.1", "fd00::1", "::ffff:127.0.0.1", "169.254.169.254"]
)
def test_servers_of_the_operator_may_be_anywhere(
    address: str, names: dict[str, list[str]], dialled: list[str]
) -> None:
    names["mail.internal"] = [address]
    assert failure("http://mail.internal/", allowed=EVERYWHERE).code == "refused"
    assert dialled == [address]


def test_the_name_is_looked_up_once(
    peers: Peers, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    known = dial.look_up
    monkeypatch.setattr(dial, "look_up", lambda host, port: asked.append(host) or known(host, port))
    names["hooks.example"] = ["127.0.0.1"]
    peer = peers.serve(peers.says(OK))
    assert get(f"http://hooks.example:{peer.port}/").status == 200
    assert asked == ["hooks.example"]


def test_the_next_address_is_tried_when_the_first_refuses(peers: Peers, names: dict[str, list[str]]) -> None:
    names["hooks.example"] = ["127.0.0.2", "127.0.0.1"]
    peer = peers.serve(peers.says(OK))
    assert get(f"http://hooks.example:{peer.port}/").status == 200


def test_a_first_address_that_swallows_everything_leaves_time_for_the_second(
    peers: Peers, names: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    shares: list[float] = []
    really = dial.connect_to

    def connect_to(one: dial.Found, seconds: float) -> socket.socket:
        shares.append(seconds)
        if one[1][0] == "127.0.0.2":
            raise TimeoutError
        return really(one, seconds)

    monkeypatch.setattr(dial, "connect_to", connect_to)
    names["hooks.example"] = ["127.0.0.2", "127.0.0.1"]
    peer = peers.serve(peers.says(OK))
    assert get(f"http://hooks.example:{peer.port}/", seconds=8).status == 200
    assert shares[0] <= 4 < shares[1]


def test_ipv6(peers: Peers) -> None:
    try:
        peer = peers.serve(peers.says(OK), host="::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    assert get(peer.url).status == 200
    assert b"host: [::1]:%d\r\n" % peer.port in peers.heard[0]


def test_a_resolver_that_hangs_does_not_hold_up_the_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    over = threading.Event()
    monkeypatch.setattr(dial, "look_up", lambda host, port: over.wait(10) and [])
    problem = failure("http://hooks.example/", seconds=0.2)
    over.set()
    assert problem.code == "not_resolved"
    assert problem.duration_ms < 5000


# --- errors and their texts


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def test_refused() -> None:
    problem = failure(f"http://127.0.0.1:{closed_port()}/")
    assert (problem.code, problem.reason) == ("refused", "The server refused the connection.")
    assert str(problem) == problem.reason


def test_unknown_name(names: dict[str, list[str]]) -> None:
    problem = failure("http://nowhere.example/")
    assert (problem.code, problem.reason) == (
        "not_resolved",
        "The name of the server could not be resolved.",
    )


BROKEN = {
    "hangs before the answer": (lambda p: p.hangs, "timed_out"),
    "drips the head": (lambda p: p.goes_on(b"HTTP/1.1 200 OK\r\nX: ", b"x", 0.02), "timed_out"),
    "drips the body": (
        lambda p: p.goes_on(b"HTTP/1.1 200 OK\r\nContent-Length: 999\r\n\r\n", b"x", 0.02),
        "timed_out",
    ),
    "never comes to the point": (
        lambda p: p.goes_on(b"", b"HTTP/1.1 102 Processing\r\n\r\n", 0.01),
        "timed_out",
    ),
    "an endless head": (lambda p: p.goes_on(b"HTTP/1.1 200 OK\r\n", b"X-Y: z" * 999 + b"\r\n"), "bad_answer"),
    "resets": (lambda p: p.resets, "reset"),
    "hangs up": (lambda p: p.says(), "bad_answer"),
    "hangs up in the body": (
        lambda p: p.says(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nx"),
        "bad_answer",
    ),
    "speaks something else": (lambda p: p.says(b"220 mail.example ESMTP\r\n"), "bad_answer"),
}


@pytest.mark.parametrize(("script", "code"), BROKEN.values(), ids=BROKEN)
def test_bad_servers(script: Callable[[Peers], Script], code: str, peers: Peers) -> None:
    problem = failure(peers.serve(script(peers)).url, seconds=0.4 if code == "timed_out" else 5)
    assert problem.code == code
    assert problem.duration_ms < 5000
    assert problem.reason.endswith(".")


def test_a_server_that_reads_nothing_does_not_hold_up_the_sender(peers: Peers) -> None:
    peer = peers.serve(peers.hangs)
    with pytest.raises(NoAnswer) as caught:
        net_http.request("POST", peer.url, body=b"x" * 50_000_000, allowed=LOOPBACK, seconds=0.4)
    assert caught.value.code == "timed_out"


BAD_ADDRESSES = [
    "",
    "hooks.example",
    "ftp://hooks.example/",
    "javascript:alert(1)",
    "http://",
    "http:///x",
    "http://a:99999/",
    "http://[::1/",
]


@pytest.mark.parametrize("url", BAD_ADDRESSES)
def test_what_is_no_address(url: str) -> None:
    assert failure(url).code == "bad_address"


def test_a_header_can_not_smuggle_another_one(peers: Peers) -> None:
    peer = peers.serve(peers.says(OK))
    assert failure(peer.url, headers={"X-Name": "a\r\nX-Admin: 1"}).code == "bad_request"
    assert peers.heard == []


# --- what is sent

TARGETS = {
    "no path": ("http://HOOKS.example:{port}", "hooks.example", "/"),
    "escapes stay": (
        "http://hooks.example:{port}/a%2Fb%20c?q=%2B+a;b[]&&x=",
        None,
        "/a%2Fb%20c?q=%2B+a;b[]&&x=",
    ),
    "the fragment stays here": ("http://hooks.example:{port}/a?b#c", None, "/a?b"),
    "letters and blanks": ("http://hooks.example:{port}/ü x?ü=ß", None, "/%C3%BC%20x?%C3%BC=%C3%9F"),
    "a name of any script": ("http://bücher.example:{port}/", "xn--bcher-kva.example", "/"),
}


@pytest.mark.parametrize(("url", "host", "path"), TARGETS.values(), ids=TARGETS)
def test_the_request_line(
    url: str, host: str | None, path: str, peers: Peers, names: dict[str, list[str]]
) -> None:
    host = host or "hooks.example"
    names[host] = ["127.0.0.1"]
    peer = peers.serve(peers.says(OK))
    assert get(url.format(port=peer.port)).status == 200
    lines = peers.heard[0].split(b"\r\n")
    assert lines[0] == f"GET {path} HTTP/1.1".encode()
    assert f"host: {host}:{peer.port}".encode() in lines


def test_headers_and_body(peers: Peers) -> None:
    peer = peers.serve(peers.says(b"HTTP/1.1 201 Created\r\nX-Id: 7\r\nContent-Length: 0\r\n\r\n"))
    headers = {"Content-Type": "application/json", "USER-AGENT": "Mine", "Host": "forged.example"}
    got = net_http.request("POST", peer.url, headers=headers, body=b'{"a":1}', allowed=LOOPBACK)
    assert (got.status, got.header("X-ID"), got.header("X-None"), got.body) == (201, "7", None, b"")
    head, _, body = peers.heard[0].partition(b"\r\n\r\n")
    assert body == b'{"a":1}'
    lines = head.lower().split(b"\r\n")[1:]
    assert {b"content-type: application/json", b"user-agent: mine", b"content-length: 7"} <= set(lines)
    assert b"host: 127.0.0.1:%d" % peer.port in lines
    assert b"forged" not in head


def test_a_login_in_the_address_becomes_a_header(peers: Peers) -> None:
    peer = peers.serve(peers.says(OK))
    get(peer.url.replace("//", "//ann:p%40ss@"))
    assert b"authorization: Basic YW5uOnBAc3M=\r\n" in peers.heard[0]
    assert b"ann" not in peers.heard[0]


def test_proxies_from_the_environment_are_ignored(peers: Peers, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{closed_port()}")
    assert get(peers.serve(peers.says(OK)).url).status == 200


def test_redirects_are_answers(peers: Peers) -> None:
    there = peers.serve(peers.says(OK))
    head = f"HTTP/1.1 302 Found\r\nLocation: {there.url}\r\nContent-Length: 0\r\n\r\n".encode()
    got = get(peers.serve(peers.says(head)).url)
    assert (got.status, got.header("location")) == (302, there.url)
    assert len(peers.heard) == 1


# --- what comes back


def test_a_stream_without_end_is_cut(peers: Peers) -> None:
    peer = peers.serve(peers.goes_on(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 4096))
    assert get(peer.url, limit=10_000).body == b"x" * 10_000
    assert len(get(peer.url).body) == 64 * 1024


def packed(content: bytes, encoding: bytes = b"gzip") -> bytes:
    return b"HTTP/1.1 200 OK\r\nContent-Encoding: %s\r\nContent-Length: %d\r\n\r\n%s" % (
        encoding,
        len(content),
        content,
    )


PACKED = {
    "gzip": packed(gzip.compress(b"hello")),
    "gzip, loud": packed(gzip.compress(b"hello"), b"X-GZIP"),
    "deflate": packed(zlib.compress(b"hello"), b"deflate"),
    "gzip in chunks": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nTransfer-Encoding: chunked\r\n\r\n"
    + b"".join(b"1\r\n%c\r\n" % byte for byte in gzip.compress(b"hello"))
    + b"0\r\n\r\n",
}


@pytest.mark.parametrize("said", PACKED.values(), ids=PACKED)
def test_compressed_bodies_are_read(said: bytes, peers: Peers) -> None:
    assert get(peers.serve(peers.says(said)).url).body == b"hello"


def test_a_gzip_bomb_stays_small(peers: Peers) -> None:
    bomb = gzip.compress(bytes(100_000_000))
    assert len(bomb) > 64 * 1024
    assert get(peers.serve(peers.says(packed(bomb))).url, limit=50_000).body == bytes(50_000)


def test_a_gzip_head_without_end_is_left(peers: Peers) -> None:
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\x08\x08" + bytes(6)
    assert get(peers.serve(peers.goes_on(head, b"n" * 4096)).url).body == b""


def test_a_body_that_is_no_gzip_does_not_spoil_the_status(peers: Peers) -> None:
    got = get(peers.serve(peers.says(packed(b"plain text"))).url)
    assert (got.status, got.body) == (200, b"")


def test_many_at_once_leave_nothing_behind(peers: Peers) -> None:
    peer = peers.serve(peers.says(OK))
    get(peer.url)
    before = len(list(Path("/proc/self/fd").iterdir())) if Path("/proc/self/fd").exists() else 0
    with ThreadPoolExecutor(20) as pool:
        assert [a.status for a in pool.map(lambda _: get(peer.url), range(100))] == [200] * 100
    for thread in peers.threads[1:]:
        thread.join(90)
    after = len(list(Path("/proc/self/fd").iterdir())) if before else 0
    assert after <= before


# --- downloads


def test_a_download_is_written_as_it_travelled(peers: Peers) -> None:
    content = gzip.compress(os.urandom(300_000))
    file = io.BytesIO()
    got = net_http.download(peers.serve(peers.says(packed(content))).url, file, allowed=LOOPBACK)
    assert (got.status, got.body, file.getvalue()) == (200, b"", content)


def test_a_download_that_is_too_large_fails(peers: Peers) -> None:
    peer = peers.serve(peers.goes_on(b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 4096))
    file = io.BytesIO()
    with pytest.raises(NoAnswer) as caught:
        net_http.download(peer.url, file, allowed=LOOPBACK, limit=100_000)
    assert caught.value.code == "too_large"
    assert len(file.getvalue()) <= 100_000


def test_a_download_that_is_not_there_writes_nothing(peers: Peers) -> None:
    file = io.BytesIO()
    peer = peers.serve(peers.says(b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\noops"))
    assert net_http.download(peer.url, file, allowed=LOOPBACK).status == 404
    assert file.getvalue() == b""


def test_a_download_that_breaks_off_or_drips_fails(peers: Peers) -> None:
    for script, code in (BROKEN["hangs up in the body"], BROKEN["drips the body"]):
        with pytest.raises(NoAnswer) as caught:
            net_http.download(peers.serve(script(peers)).url, io.BytesIO(), allowed=LOOPBACK, seconds=0.4)
        assert caught.value.code == code


def test_a_full_disk_is_no_fault_of_the_server(peers: Peers) -> None:
    class Full(io.BytesIO):
        def write(self, _: object) -> int:
            raise OSError(28, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        net_http.download(peers.serve(peers.says(OK)).url, Full(), allowed=LOOPBACK)


# --- other protocols


def test_a_line_for_mail(peers: Peers) -> None:
    peer = peers.serve(lambda line: line.sendall(b"220 ready\r\n"))
    with net_http.connect("127.0.0.1", peer.port, allowed=EVERYWHERE) as line:
        assert line.recv(100) == b"220 ready\r\n"
    with pytest.raises(NoAnswer) as caught:
        net_http.connect("127.0.0.1", peer.port)
    assert caught.value.code == "private_address"


# --- certificates


@pytest.fixture
def authority(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Authority]:
    found = Authority(tmp_path)
    monkeypatch.setenv("SSL_CERT_FILE", str(found.file))
    dial.trusted.cache_clear()
    yield found
    dial.trusted.cache_clear()


def test_a_good_certificate_and_the_name_in_host_and_sni(
    peers: Peers, names: dict[str, list[str]], authority: Authority
) -> None:
    names["hooks.example"] = ["127.0.0.1"]
    peer = peers.serve(peers.says(OK), tls=authority.server("hooks.example"))
    assert get(f"https://hooks.example:{peer.port}/").body == b"hello"
    assert peers.names == ["hooks.example"]
    assert b"host: hooks.example:%d\r\n" % peer.port in peers.heard[0]


CERTIFICATES = {
    "self-signed": ("hooks.example", {"is_self_signed": True}, "self-signed certificate"),
    "for another name": ("other.example", {}, "not valid for 'hooks.example'."),
    "expired": ("hooks.example", {"days": -1}, "certificate has expired."),
}


@pytest.mark.parametrize(("host", "more", "words"), CERTIFICATES.values(), ids=CERTIFICATES)
def test_bad_certificates(
    host: str,
    more: dict[str, object],
    words: str,
    peers: Peers,
    names: dict[str, list[str]],
    authority: Authority,
) -> None:
    names["hooks.example"] = ["127.0.0.1"]
    peer = peers.serve(peers.says(OK), tls=authority.server(host, **more))
    problem = failure(f"https://hooks.example:{peer.port}/")
    assert problem.code == "bad_certificate"
    assert words in problem.reason
    assert not problem.reason.endswith("..")
    assert peers.heard == []


def test_no_tls_there(peers: Peers) -> None:
    peer = peers.serve(lambda line: line.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n"))
    assert failure(peer.url.replace("http:", "https:")).code == "tls_failed"


def test_a_handshake_that_hangs(peers: Peers) -> None:
    peer = peers.serve(peers.hangs)
    assert failure(peer.url.replace("http:", "https:"), seconds=0.3).code == "timed_out"
