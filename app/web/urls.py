"""Absolute addresses of this instance: of the site, dashboard, short links and media. Hosts of requests."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import quote

from flask import request

from app.web.application import settings


def links_site() -> str:
    """The site of short links without a domain of their own: `BASE_URL`, else the host of this request."""
    return settings().base_url or f"{request.scheme}://{request.host}"


def dashboard_site() -> str:
    """The site of the dashboard and the API."""
    return settings().dashboard_url or links_site()


def short_url(url: str, domain: str | None = None) -> str:
    """The absolute short URL of an alias. `domain` is a scheme and host, such as `https://go.example`."""
    return short_url_at(domain or links_site(), url)


def short_url_at(base: str, url: str) -> str:
    return f"{base}/{quote(url, safe='/~')}"


def media_url(name: str | None) -> str | None:
    """The absolute address of an uploaded file; None without a name."""
    return None if name is None else f"{links_site()}/media/{name}"


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
