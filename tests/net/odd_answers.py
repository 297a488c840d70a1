"""Malformed responses of servers, as bytes by name."""

from __future__ import annotations

import gzip
import ipaddress
import socket

import pytest

from app.net import dial


@pytest.fixture
def no_dns(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replaces the look-up, so that no name is looked up outside: only IP addresses resolve."""
    real = dial.look_up

    def look_up(host: str, port: int) -> list[dial.Found]:
        host.encode("idna")  # as getaddrinfo does first
        try:
            ipaddress.ip_address(host.partition("%")[0])
        except ValueError:
            raise socket.gaierror(socket.EAI_NONAME, "Name or service not known") from None
        return real(host, port)

    monkeypatch.setattr(dial, "look_up", look_up)


def redirects(location: bytes) -> bytes:
    return b"HTTP/1.1 302 Found\r\nLocation: " + location + b"\r\nContent-Length: 0\r\n\r\n"


LOCATIONS = {
    "another scheme with a port": b"gopher://h:1/",
    "half a bracket": b"http://[::1",
    "half a bracket without a scheme": b"//[",
    "an empty host": b"http://",
    "a port that is none": b"http://h:x/",
    "a port beyond all": b"http://h:99999999/",
    "port zero": b"http://h:0/",
    "no scheme": b"://",
    "a script": b"javascript:alert(1)",
    "data": b"data:text/html,x",
    "a file": b"file:///etc/passwd",
    "raw bytes": b"\xff\xfe\x80",
    "a host of raw bytes": b"http://\xc3\x28\xe2\x82/",
    "a host without end": b"http://" + b"a" * 5_000 + b"/",
    "labels without end": b"http://" + b"a." * 3_000 + b"/",
    "dots": b"http://.../",
    "a zone": b"http://[fe80::1%25eth0]/",
    "a zone without end": b"http://[fe80::1%25" + b"%" * 500 + b"]/",
    "IPv9": b"http://[v9.x]/",
    "NFKC makes it a slash": "http://exam℀ple.com/".encode(),
    "a login of percents": b"http://%zz%:%@h.invalid/",
    "an xn-- of nothing": b"http://xn--/",
    "an xn-- beyond all": b"http://xn--" + b"9" * 50 + b"/",
    "a path of raw bytes": b"/\xff\xfex",
    "a query without end": b"/?" + b"q" * 60_000,
    "white space": b"   ",
    "a tab inside": b"ht\ttp://h.invalid/",
}
ANSWERS = {
    "nothing": b"",
    "no HTTP": b"\x00\x01\x02 hello\r\n\r\n",
    "another protocol": b"SSH-2.0-OpenSSH_9.0\r\n",
    "HTTP/0.9": b"<html>hi</html>",
    "HTTP/2": b"\x00\x00\x12\x04\x00\x00\x00\x00\x00",
    "half a status line": b"HTTP/1.1 2",
    "no status": b"HTTP/1.1 \r\n\r\n",
    "status zero": b"HTTP/1.1 000 X\r\n\r\n",
    "status 999": b"HTTP/1.1 999 X\r\nContent-Length: 0\r\n\r\n",
    "status of letters": b"HTTP/1.1 abc X\r\n\r\n",
    "status of five digits": b"HTTP/1.1 20000 OK\r\n\r\n",
    "a reason of raw bytes": b"HTTP/1.1 500 \xff\xfe\x80\r\nContent-Length: 0\r\n\r\n",
    "a negative length": b"HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\n",
    "a length of letters": b"HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n",
    "two lengths": b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab",
    "a length beyond all": b"HTTP/1.1 200 OK\r\nContent-Length: " + b"9" * 400 + b"\r\n\r\n",
    "a body that breaks off": b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\nab",
    "chunks that are none": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    "an odd transfer encoding": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: rot13\r\n\r\n",
    "a gzip that is none": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: 4\r\n\r\nabcd",
    "two gzips": b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"a") * 2,
    "a header without a colon": b"HTTP/1.1 200 OK\r\nnonsense\r\n\r\n",
    "a header that is folded": b"HTTP/1.1 200 OK\r\nX: a\r\n b\r\nContent-Length: 0\r\n\r\n",
    "a header with NUL": b"HTTP/1.1 200 OK\r\nX: a\x00b\r\nContent-Length: 0\r\n\r\n",
    "headers without end": b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 300_000 + b"\r\n\r\n",
    "a thousand headers": b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1_000 + b"Content-Length: 0\r\n\r\n",
    "only interim answers": b"HTTP/1.1 100 Continue\r\n\r\n" * 50,
    "another protocol agreed": b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n",
    "two redirects": b"HTTP/1.1 302 X\r\nLocation: http://[\r\nLocation: gopher://h:1/\r\nContent-Length: 0\r\n\r\n",
    "frames of a policy that is none": (
        b"HTTP/1.1 200 OK\r\nContent-Security-Policy: frame-ancestors http://[ https://*:x ;;; 'self\r\n"
        b"Content-Length: 0\r\n\r\n"
    ),
    "a policy of raw bytes": (
        b"HTTP/1.1 200 OK\r\nContent-Security-Policy: frame-ancestors \xff\xfe\r\nContent-Length: 0\r\n\r\n"
    ),
    "a policy without end": (
        b"HTTP/1.1 200 OK\r\nContent-Security-Policy: frame-ancestors " + b"a.b:1/ " * 8_000 + b"\r\n"
        b"Content-Length: 0\r\n\r\n"
    ),
    "an hour that is none": b"HTTP/1.1 503 X\r\nRetry-After: Mon, 99 Foo 99999 99:99:99 +9999\r\nContent-Length: 0\r\n\r\n",
    "seconds beyond all": b"HTTP/1.1 503 X\r\nRetry-After: " + b"9" * 400 + b"\r\nContent-Length: 0\r\n\r\n",
} | {f"a redirect to {name}": redirects(location) for name, location in LOCATIONS.items()}
