"""Dialling of outbound connections: only to allowed addresses, and within a deadline.

A name is looked up once, each of its addresses is checked, and a checked address itself is dialled: no second
look-up can return another one.
"""

from __future__ import annotations

import errno
import ipaddress
import logging
import socket
import ssl
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from functools import cache
from threading import Thread
from typing import Any

import httpcore

from app.core.errors import FieldError, WaypostError
from app.core.scheduling import give_way
from app.i18n.messages import lazy_gettext as _l
from app.net.networks import Network, is_public

# What getaddrinfo returns: the family, and the address as `connect` takes it.
Found = tuple[socket.AddressFamily, tuple[Any, ...]]

# `allowed=EVERYWHERE` is for servers that the operator names in a setting.
log = logging.getLogger(__name__)

EVERYWHERE: tuple[Network, ...] = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))


class NoAnswer(WaypostError):
    """No answer, or none that can be used. `reason` says why for people, `code` for programs."""

    def __init__(self, code: str, reason: str, duration_ms: int = 0) -> None:
        super().__init__(FieldError(reason, code))
        self.code, self.reason, self.duration_ms = code, reason, duration_ms


class NotPublic(Exception):
    """One of the addresses of a name may not be contacted."""


class Deadline:
    """Deadline of a whole exchange, however slowly the other side sends."""

    def __init__(self, seconds: float) -> None:
        self.start = time.monotonic()
        self.end = self.start + seconds

    def left(self) -> float:
        left = self.end - time.monotonic()
        if left <= 0:
            raise TimeoutError
        return left

    def spent_ms(self) -> int:
        return round((time.monotonic() - self.start) * 1000)


def look_up(host: str, port: int) -> list[Found]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys((family, address) for family, _, _, _, address in found))


def resolve(host: str, port: int, deadline: Deadline) -> list[Found]:
    """Looks up a name in a thread, for getaddrinfo has no deadline. A hanging one ends when it gives up."""
    future: Future[list[Found]] = Future()

    def work() -> None:
        try:
            future.set_result(look_up(host, port))
        except (OSError, UnicodeError) as error:
            future.set_exception(error)

    Thread(target=work, name="resolve", daemon=True).start()
    try:
        return future.result(deadline.left())
    except TimeoutError as error:
        raise socket.gaierror(socket.EAI_AGAIN, "no answer in time") from error


def may_dial(found: Found, allowed: Sequence[Network]) -> bool:
    address = ipaddress.ip_address(found[1][0].partition("%")[0])
    if not is_public(address, allowed):
        return False
    is_named = any(address in network for network in allowed) or not is_public(address)
    return is_named or not is_our_own(*found)


def is_our_own(family: socket.AddressFamily, address: tuple[Any, ...]) -> bool:
    """Whether this is a (public) address of this machine itself, which no firewall would protect.

    For such an address the kernel picks the same one as the source. Nothing is sent: it is UDP.
    """
    with socket.socket(family, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(address)
        except OSError:
            return False  # there is no route, so it is no address of this machine
        return bool(probe.getsockname()[0] == address[0])


def dial(host: str, port: int, allowed: Sequence[Network], deadline: Deadline) -> socket.socket:
    """A connection to the first address that answers. One that may not be dialled refuses them all."""
    found = resolve(host, port, deadline)
    if not all(may_dial(one, allowed) for one in found):
        raise NotPublic
    problem = OSError(errno.EADDRNOTAVAIL, "no address")
    for position, one in enumerate(found):
        try:
            # Each has its share of the time: a first address that drops packets must not starve the second.
            return connect_to(one, deadline.left() / (len(found) - position))
        except OSError as error:
            problem = error
    raise problem


def connect_to(found: Found, seconds: float) -> socket.socket:
    family, address = found
    line = socket.socket(family, socket.SOCK_STREAM)
    try:
        line.settimeout(seconds)
        line.connect(address)
    except BaseException:
        line.close()
        raise
    return line


TOO_SLOW = _l("The server did not answer in time.")


def describe_certificate(error: ssl.SSLCertVerificationError) -> str:
    return _l("The certificate is not valid: %(reason)s.", reason=printable(error.verify_message))


def describe_unreachable(error: OSError) -> str:
    return _l("The server can't be reached: %(reason)s.", reason=printable(error.strerror))


def describe_bad_request(error: Exception) -> str:
    return _l("This can't be sent as HTTP: %(reason)s.", reason=printable(error))


def printable(text: object) -> str:
    """A part of a sentence that every database can store and every page can show, whatever a server sent."""
    return "".join(c if c.isprintable() else "\ufffd" for c in str(text)).rstrip(".")


# Kinds of failure, of which the first that fits counts: the code for programs, the text for people.
WORDS: tuple[tuple[type[Exception], str, str | Callable[[Any], str]], ...] = (
    (NotPublic, "private_address", _l("This address is in a private network, or is this server itself.")),
    (TimeoutError, "timed_out", TOO_SLOW),
    (socket.gaierror, "not_resolved", _l("The name of the server could not be resolved.")),
    (UnicodeError, "not_resolved", _l("This can't be the name of a server.")),
    (
        ssl.SSLCertVerificationError,
        "bad_certificate",
        describe_certificate,
    ),
    (ssl.SSLError, "tls_failed", _l("No secure connection to the server could be made.")),
    (ConnectionRefusedError, "refused", _l("The server refused the connection.")),
    (ConnectionError, "reset", _l("The server broke off the connection.")),
    (
        OSError,
        "unreachable",
        describe_unreachable,
    ),
    (httpcore.RemoteProtocolError, "bad_answer", _l("The server hung up early, or its answer is not HTTP.")),
    (
        httpcore.LocalProtocolError,
        "bad_request",
        describe_bad_request,
    ),
    # servers may send anything, and that must not end the caller
    (Exception, "bad_answer", _l("The server's answer can't be read.")),
)


@contextmanager
def in_words(deadline: Deadline, passing: tuple[type[Exception], ...] = ()) -> Iterator[None]:
    """Raises any network error as NoAnswer, except those in `passing`, which the caller handles."""
    try:
        yield
    except Exception as error:
        if isinstance(error, (NoAnswer, *passing)):
            raise
        kind, code, words = next(each for each in WORDS if isinstance(error, each[0]))
        if kind is Exception:
            log.exception("An odd answer")
        raise NoAnswer(code, words(error) if callable(words) else words, deadline.spent_ms()) from error


class DeadlineStream(httpcore.NetworkStream):
    """A stream whose every wait ends at the deadline (httpcore's own timeouts begin anew with each byte)."""

    def __init__(
        self, host: str, port: int, is_tls: bool, allowed: Sequence[Network], deadline: Deadline
    ) -> None:
        self.deadline = deadline
        self.socket = dial(host, port, allowed, deadline)
        if is_tls:
            self.encrypt(host)

    def encrypt(self, name: str) -> None:
        try:
            self.socket.settimeout(self.deadline.left())
            self.socket = trusted("http/1.1").wrap_socket(self.socket, server_hostname=name)
        except BaseException:
            self.socket.close()
            raise

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:  # noqa: ARG002  the deadline rules
        self.socket.settimeout(self.deadline.left())
        return self.socket.recv(max_bytes)

    def write(self, buffer: bytes, timeout: float | None = None) -> None:  # noqa: ARG002
        give_way()
        rest = memoryview(buffer)
        try:
            while rest:
                self.socket.settimeout(self.deadline.left())
                rest = rest[self.socket.send(rest) :]
        except ConnectionError as error:
            # On this error httpcore still reads a response that was sent before the connection was closed.
            raise httpcore.WriteError from error

    def close(self) -> None:
        self.socket.close()


@cache
def trusted(*protocols: str) -> ssl.SSLContext:
    """A TLS context with the authorities of the system and of certifi, made once: reading them takes 20 ms.

    `protocols` are those that are offered (ALPN). Mail has none, and some mail servers hang up at another's.
    """
    context = httpcore.default_ssl_context()
    if protocols:
        context.set_alpn_protocols(list(protocols))
    return context
