"""Hosts of requests: their normal form, and whether they are trusted."""

from __future__ import annotations

from collections.abc import Iterable

DEFAULT_PORTS = (":80", ":443")


def plain_host(host: str) -> str:
    """A `Host` header in its normal form: lower case, without a default port and a final dot."""
    host = host.strip().lower()
    for port in DEFAULT_PORTS:
        host = host.removesuffix(port)
    name, colon, port = host.partition(":")
    return name.removesuffix(".") + colon + port


def without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def is_trusted(host: str, trusted: Iterable[str]) -> bool:
    """Whether a host is in `trusted`, or ends in an entry that begins with a dot. Ports do not matter."""
    name = without_port(plain_host(host))
    return any(name == one.removeprefix(".") or (one[0] == "." and name.endswith(one)) for one in trusted)
