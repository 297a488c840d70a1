"""Under which absolute addresses is this instance itself reached?"""

from __future__ import annotations

from urllib.parse import quote

from flask import current_app, request

from app.config import Settings


def settings() -> Settings:
    found: Settings = current_app.config["WAYPOST"]
    return found


def site() -> str:
    """Where short links of no domain of their own are: `BASE_URL`, else the host of this request."""
    return settings().base_url or f"{request.scheme}://{request.host}"


def owners_site() -> str:
    """Where the dashboard and the API are."""
    return settings().dashboard_url or site()


def short_url(url: str, domain: str | None = None) -> str:
    """The absolute short address of an alias; `domain` is a scheme and host, as `https://go.example`."""
    return short_url_at(domain or site(), url)


def short_url_at(base: str, url: str) -> str:
    return f"{base}/{quote(url, safe='~')}"


def media_url(name: str | None) -> str | None:
    """The absolute address of an uploaded file."""
    return None if name is None else f"{site()}/media/{name}"
