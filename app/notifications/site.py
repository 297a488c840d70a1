"""URLs of this instance for messages. The worker has no request to take them from."""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import quote, unquote, urlsplit

from app.core.config import Settings


@dataclass(frozen=True)
class SiteUrls:
    """The base URLs of short links without an own domain, and of the dashboard; no slash at the end."""

    links: str
    owners: str

    def short_url(self, url: str, domain: str | None = None) -> str:
        """As `app.web.urls.short_url`, for code without a request."""
        return f"{domain or self.links}/{quote(url, safe='/~')}"

    def link_page(self, link_id: int) -> str:
        return f"{self.owners}/dashboard/links/{link_id}"

    def statistics_page(self, link_id: int | None, start: str, end: str) -> str:
        """The statistics page of one link, or of all for None, with dates as the API writes them."""
        whose = "" if link_id is None else f"links/{link_id}/"
        days = f"period=custom&start_date={start}&end_date={end}"
        return f"{self.owners}/dashboard/{whose}statistics/?{days}"

    def stop_page(self, token: str) -> str:
        return f"{self.owners}/dashboard/stop/{token}"

    def confirm_page(self, token: str) -> str:
        return f"{self.owners}/dashboard/confirm/{token}"

    def links_page(self) -> str:
        return f"{self.owners}/dashboard/links/"

    def handlers_page(self) -> str:
        return f"{self.owners}/dashboard/handlers/"


def site_of(settings: Settings) -> SiteUrls:
    """The URLs by `BASE_URL`, else by the address that the server listens on."""
    links = settings.base_url or settings.local_url
    return SiteUrls(links, settings.dashboard_url or links)


def readable(short_url: str) -> str:
    """`https://go.example/caf%C3%A9` → `go.example/café`."""
    parts = urlsplit(short_url)
    return parts.netloc + unquote(parts.path)
