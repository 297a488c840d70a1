"""Which host was asked, and what does it serve?"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

from app.config import Settings
from app.visits.paths import OPERATORS, OWNERS, first_segment
from app.visits.store import Row

DEFAULT_PORTS = (":80", ":443")
# a name, an IPv4 or an IPv6 address, perhaps with a port: at most 261 characters
HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,255}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{0,5})?", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """What one host serves. `domain_id` is 0 for the instance's own hosts, which are no `user_id`'s."""

    domain_id: int = 0
    user_id: int = 0
    has_links: bool = True
    has_owners_pages: bool = True
    custom_index_url: str | None = None
    custom_not_found_url: str | None = None

    def may_serve(self, path: str) -> bool:
        """Whether a path that is reserved, and so no link's, is answered here at all."""
        segment = first_segment(path)
        if segment in OWNERS:
            return self.has_owners_pages
        return segment not in OPERATORS or not self.domain_id


NOBODYS = Site(has_links=False, has_owners_pages=False)


class Sites:
    """All hosts of one moment: those that are somebody's verified domain, the dashboard's, and any other."""

    def __init__(self, domains: list[Row], settings: Settings, role: str | None = None) -> None:
        dashboard = urlsplit(settings.dashboard_url).netloc if settings.dashboard_url else None
        self.trusted = settings.trusted_hosts
        self.own = Site(has_links=role != "owners", has_owners_pages=role != "visitors" and not dashboard)
        self.by_host = {plain_host(row["host"]): site_of(row, role) for row in domains}
        if dashboard:  # last: nobody's domain may take the dashboard's place
            self.by_host[plain_host(dashboard)] = Site(has_links=False, has_owners_pages=role != "visitors")

    def at(self, host: str) -> Site:
        """By host and port, or by the host alone: on another port it is still the same owner's.

        Where `TRUSTED_HOSTS` is set, a host that it does not name serves nothing.
        """
        if self.trusted and not is_trusted(host, self.trusted):
            return NOBODYS
        host = plain_host(host)
        return self.by_host.get(host) or self.by_host.get(without_port(host)) or self.own


def site_of(row: Row, role: str | None) -> Site:
    """One that is switched off is still its owner's: it serves nothing, and nobody else's links or pages."""
    whose = Site(domain_id=row["id"], user_id=row["user_id"], has_links=False, has_owners_pages=False)
    if not row["is_enabled"]:
        return whose
    return replace(
        whose,
        has_links=role != "owners",
        custom_index_url=row["custom_index_url"],
        custom_not_found_url=row["custom_not_found_url"],
    )


def is_host(host: str) -> bool:
    """Whether there can be such a host. What is none is refused before anything keeps it."""
    return HOST.fullmatch(host) is not None


def plain_host(host: str) -> str:
    """A `Host` header without what makes no difference: case, a port that is the default, a final dot."""
    host = host.strip().lower()
    for port in DEFAULT_PORTS:
        host = host.removesuffix(port)
    name, colon, port = host.partition(":")
    return name.removesuffix(".") + colon + port


def without_port(host: str) -> str:
    name, colon, port = host.rpartition(":")
    return name if colon and port.isdigit() else host


def is_trusted(host: str, trusted: Iterable[str]) -> bool:
    """Whether the host of a request is named, or ends in a name that begins with a dot. Any port will do."""
    name = without_port(plain_host(host))
    return any(name == one.removeprefix(".") or (one[0] == "." and name.endswith(one)) for one in trusted)
