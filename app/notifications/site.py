"""Under which addresses do messages lead back here? (The worker knows of no request that would tell.)"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote

from app.config import Settings


@dataclass(frozen=True)
class Site:
    """Where short links of no domain of their own are, and where the dashboard is; both without a slash."""

    links: str
    owners: str

    def short_url(self, url: str, domain: str | None = None) -> str:
        """As `own_addresses.short_url`, for whoever has no request."""
        return f"{domain or self.links}/{quote(url, safe='~')}"

    def link_page(self, link_id: int) -> str:
        return f"{self.owners}/dashboard/links/{link_id}"

    def statistics_page(self, link_id: int | None, start: str, end: str) -> str:
        """Of one link, or of all, over days as the API writes them."""
        whose = "" if link_id is None else f"links/{link_id}/"
        days = f"period=custom&start_date={start}&end_date={end}"
        return f"{self.owners}/dashboard/{whose}statistics/?{days}"

    def stop_page(self, token: str) -> str:
        return f"{self.owners}/dashboard/stop/{token}"

    def confirm_page(self, token: str) -> str:
        return f"{self.owners}/dashboard/confirm/{token}"

    def handlers_page(self) -> str:
        return f"{self.owners}/dashboard/handlers/"


def site_of(settings: Settings) -> Site:
    """`BASE_URL`, else the address that is listened on."""
    links = settings.base_url or settings.local_url
    return Site(links, settings.dashboard_url or links)
