"""Outbound HTTP requests, downloads and sockets.

They go only to checked addresses, within one deadline, with a limit on the size of a response, without
following redirects, and without proxies from the environment.
"""

# see docs/decisions/2026-11-20-one-door-out.md
from __future__ import annotations

import base64
import socket
import string
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import BinaryIO, NamedTuple
from urllib.parse import SplitResult, quote, unquote, urljoin, urlsplit

import dns.exception
import dns.resolver
import httpcore
import idna

from app.i18n.messages import lazy_gettext as _l
from app.net.dial import EVERYWHERE, Deadline, DeadlineStream, NoAnswer, dial, in_words
from app.net.networks import Network

__all__ = ["EVERYWHERE", "HttpResponse", "NoAnswer", "connect", "download", "request", "text_records"]

SECONDS = 15.0
BODY_LIMIT = 64 * 1024
DOWNLOAD_SECONDS = 900.0
DOWNLOAD_LIMIT = 512 * 1024 * 1024
PORTS = {"http": 80, "https": 443}
COMPRESSED = {"gzip", "x-gzip", "deflate"}
REDIRECTS = frozenset({301, 302, 303, 307, 308})

Socket = socket.socket  # the type of `connect`, for modules that may not import `socket`
BOTH_WAYS = socket.SHUT_RDWR


@dataclass(frozen=True)
class HttpResponse:
    """A response. `body` is decompressed and cut at the limit. A redirect is a response like any other."""

    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    duration_ms: int

    def header(self, name: str) -> str | None:
        return next((value for key, value in self.headers if key == name.lower()), None)


class Target(NamedTuple):
    """The parts of a URL: where to dial, and what to send there."""

    is_tls: bool
    host: str
    port: int
    path: bytes
    headers: dict[str, str]


def request(
    method: str,
    url: str,
    *,
    headers: Mapping[str, str] | None = None,
    body: bytes = b"",
    allowed: Sequence[Network] = (),
    seconds: float = SECONDS,
    limit: int = BODY_LIMIT,
) -> HttpResponse:
    """Sends one request. Returns the response, whatever its status. Raises NoAnswer, also for a late body.

    `allowed` are networks that may be dialled beside the public ones (`ALLOW_PRIVATE_NETWORKS`).
    """
    deadline = Deadline(seconds)
    with opened(method, url, headers or {}, body, allowed, deadline) as response:
        found = b"".join(unpacked(pieces(response, deadline), response, limit))
    return read_response(response, found, deadline)


def download(
    url: str,
    file: BinaryIO,
    *,
    allowed: Sequence[Network] = (),
    seconds: float = DOWNLOAD_SECONDS,
    limit: int = DOWNLOAD_LIMIT,
) -> HttpResponse:
    """Writes the content at `url` to `file` as it was sent (a `.gz` stays one), if the status is 200.

    Raises NoAnswer, also when it is larger than `limit`; `file` may hold a part of it then.
    """
    deadline = Deadline(seconds)
    with opened("GET", url, {}, b"", allowed, deadline) as response:
        if response.status != 200:
            return read_response(response, b"", deadline)
        for piece in pieces(response, deadline):
            limit -= len(piece)
            if limit < 0:
                raise NoAnswer("too_large", _l("What the server sends is too large."), deadline.spent_ms())
            file.write(piece)
    return read_response(response, b"", deadline)


def connect(
    host: str, port: int, *, allowed: Sequence[Network] = (), seconds: float = SECONDS
) -> socket.socket:
    """A checked, connected socket for other protocols (mail). The caller closes it. Raises NoAnswer."""
    deadline = Deadline(seconds)
    with in_words(deadline):
        return dial(host, port, allowed, deadline)


def redirect_target(url: str, answer: HttpResponse) -> str | None:
    """Where the response at `url` redirects to; None for any other response.

    Raises NoAnswer where that is no http(s) address, which browsers do not follow.
    """
    location = answer.header("location")
    if answer.status not in REDIRECTS or not location:
        return None
    try:
        target = urljoin(url, location)
        target_of(target)
    except (ValueError, NoAnswer) as error:
        text = _l("The server redirects to an invalid address.")
        raise NoAnswer("bad_redirect", text, answer.duration_ms) from error
    return target


def server_of(url: str) -> str:
    """The host of an address, to distinguish servers; "" where it names none."""
    try:
        return (urlsplit(url).hostname or "").lower()
    except ValueError:
        return ""


# --- what is sent


def target_of(url: str) -> Target:
    try:
        parts = urlsplit(url)
        host, usual = parts.hostname or "", PORTS[parts.scheme]
        port = usual if parts.port is None else parts.port
        host = host if host.isascii() else idna.encode(host, uts46=True).decode("ascii")
        path, headers = path_of(parts), headers_of(parts, host, port)
    except (ValueError, KeyError) as error:
        raise NoAnswer("bad_address", _l("This is not an http(s) address.")) from error
    if not host:
        raise NoAnswer("bad_address", _l("This address names no server."))
    return Target(parts.scheme == "https", host, port, path, headers)


def path_of(parts: SplitResult) -> bytes:
    """Path and query as they are. Only characters that a request line can't hold are percent-encoded."""
    text = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    return quote(text, safe=string.punctuation).encode("ascii")


def headers_of(parts: SplitResult, host: str, port: int) -> dict[str, str]:
    name = f"[{host}]" if ":" in host else host
    found = {"host": name if port == PORTS[parts.scheme] else f"{name}:{port}"}
    if parts.username is not None:
        login = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        found["authorization"] = f"Basic {base64.b64encode(login.encode()).decode('ascii')}"
    return found


@contextmanager
def opened(
    method: str,
    url: str,
    headers: Mapping[str, str],
    body: bytes,
    allowed: Sequence[Network],
    deadline: Deadline,
) -> Iterator[httpcore.Response]:
    """Sends a request. Yields the response, whose body is still to be read."""
    target = target_of(url)
    with in_words(deadline):
        connection = httpcore.HTTP11Connection(
            origin(target), DeadlineStream(target.host, target.port, target.is_tls, allowed, deadline)
        )
    try:
        with in_words(deadline):
            response = connection.handle_request(build_request(method, target, headers, body))
        yield response
    finally:
        connection.close()


def origin(target: Target) -> httpcore.Origin:
    # Always "http": httpcore speaks plain HTTP here, over a stream that is encrypted or not.
    return httpcore.Origin(b"http", target.host.encode("ascii"), target.port)


def build_request(method: str, target: Target, headers: Mapping[str, str], body: bytes) -> httpcore.Request:
    own = {"user-agent": "Waypost", "accept": "*/*", "accept-encoding": "identity"}
    if body or method in {"POST", "PUT", "PATCH"}:
        own["content-length"] = str(len(body))
    given = {name.lower(): value for name, value in headers.items()}
    lines = {**own, **given, **target.headers, "connection": "close"}
    url = httpcore.URL(scheme=b"http", host=target.host.encode("ascii"), port=target.port, target=target.path)
    encoded = [(name.encode("ascii"), value.encode()) for name, value in lines.items()]
    return httpcore.Request(method, url, headers=encoded, content=body)


# --- what comes back


def pieces(response: httpcore.Response, deadline: Deadline) -> Iterator[bytes]:
    with in_words(deadline):
        yield from response.iter_stream()


def unpacked(chunks: Iterable[bytes], response: httpcore.Response, room: int) -> Iterator[bytes]:
    """At most `room` bytes after decompression, however few were sent."""
    encoding = next((value for key, value in response.headers if key.lower() == b"content-encoding"), b"")
    packed = encoding.decode("latin-1").strip().lower() in COMPRESSED
    unzip = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32) if packed else None
    to_take = room  # bytes as sent: a gzip header may go on for ever without a byte of content
    for chunk in chunks:
        try:
            piece = unzip.decompress(chunk, room) if unzip else chunk[:room]
        except zlib.error:
            return  # the status is known by now; a body that can't be decompressed ends here
        yield piece
        room, to_take = room - len(piece), to_take - len(chunk)
        if room <= 0 or to_take <= 0:
            return


def read_response(response: httpcore.Response, body: bytes, deadline: Deadline) -> HttpResponse:
    headers = tuple(
        (key.decode("latin-1").lower(), value.decode("latin-1")) for key, value in response.headers
    )
    return HttpResponse(response.status, headers, body, deadline.spent_ms())


def resolver() -> dns.resolver.Resolver:
    """A resolver of the operator's system, and no other, as it is configured now.

    `resolv.conf` may change while a process runs.
    """
    return dns.resolver.Resolver()


def text_records(name: str, *, seconds: float) -> list[str]:
    """The TXT records of a fully qualified name; empty where there are none. Raises NoAnswer."""
    try:
        with in_words(Deadline(seconds), passing=(dns.exception.DNSException, OSError)):
            answer = resolver().resolve(f"{name}.", "TXT", lifetime=seconds, search=False)
    except (dns.resolver.NXDOMAIN, dns.resolver.NoAnswer):
        return []
    except dns.exception.Timeout as error:
        raise NoAnswer("timed_out", _l("The DNS did not answer in time.")) from error
    except (dns.exception.DNSException, OSError) as error:
        raise NoAnswer("not_resolved", _l("The DNS gave no answer that can be used.")) from error
    return [b"".join(record.strings).decode("utf-8", "replace") for record in answer]
