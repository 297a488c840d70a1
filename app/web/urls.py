"""Absolute addresses of this instance: of the site, the dashboard, short links and media."""

from __future__ import annotations

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
