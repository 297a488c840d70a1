"""Hosts of requests, and what each of them serves."""

# see docs/decisions/2026-11-20-hosts.md
from __future__ import annotations

import re
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from app.core.config import Settings
from app.redirects.reader import Row
from app.web.paths import OPERATORS, OWNERS, first_segment
from app.web.urls import is_trusted, plain_host, without_port

# a name, an IPv4 or an IPv6 address, perhaps with a port: at most 261 characters
HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{0,5})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What one host serves. `domain_id` and `workspace_id` are 0 for the instance's own hosts.

    `is_trusted`: false for a host that is missing in `TRUSTED_HOSTS`, if that is set.
    """

    domain_id: int = 0
    workspace_id: int = 0
    is_trusted: bool = True
    has_links: bool = True
    has_owners_pages: bool = True
    custom_index_url: str | None = None
    custom_not_found_url: str | None = None

    def may_serve(self, path: str) -> bool:
        """Whether a reserved path, which can be no link's, is answered on this host."""
        segment = first_segment(path)
        if segment in OWNERS:
            return self.has_owners_pages
        return segment not in OPERATORS or not self.domain_id


UNTRUSTED = Site(is_trusted=False, has_links=False, has_owners_pages=False)


class Sites:
    """All hosts at one moment: verified domains, the dashboard's host, and any other."""

    def __init__(self, domains: list[Row], settings: Settings, role: str | None = None) -> None:
        dashboard = urlsplit(settings.dashboard_url).netloc if settings.dashboard_url else None
        self.trusted = settings.trusted_hosts
        self.own = Site(has_links=role != "owners", has_owners_pages=role != "visitors" and not dashboard)
        self.by_host = {plain_host(row["host"]): site_of(row, role) for row in domains}
        if dashboard:  # last: no user's domain may replace the dashboard's host
            self.by_host[plain_host(dashboard)] = Site(has_links=False, has_owners_pages=role != "visitors")

    def at(self, host: str) -> Site:
        """The site by host and port, or by the host alone: on another port it has the same owner."""
        if self.trusted and not is_trusted(host, self.trusted):
            return UNTRUSTED
        host = plain_host(host)
        return self.by_host.get(host) or self.by_host.get(without_port(host)) or self.own


def site_of(row: Row, role: str | None) -> Site:
    """The site of a verified domain. A disabled one still has its owner, and serves nothing at all."""
    whose = Site(
        domain_id=row["id"], workspace_id=row["workspace_id"], has_links=False, has_owners_pages=False
    )
    if not row["is_enabled"]:
        return whose
    return replace(
        whose,
        has_links=role != "owners",
        custom_index_url=row["custom_index_url"],
        custom_not_found_url=row["custom_not_found_url"],
    )


def is_host(host: str) -> bool:
    """Whether a host is syntactically valid. Others are refused before anything caches them."""
    return HOST.fullmatch(host) is not None
