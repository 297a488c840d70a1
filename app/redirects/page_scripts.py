"""Scripts of a link: which ones there are, which run with the page's origin, and which in a sandbox.

A script that runs with the origin of the dashboard can read the dashboard. So scripts that an owner wrote run
with the page's origin only on the owner's own domain. Scripts of pixel providers do so also if the dashboard
has another host. All others run in a sandboxed frame, `sandbox allow-scripts`, with an opaque origin.
"""

# see docs/decisions/2026-11-21-pixels-and-scripts.md
from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from app.core.config import Settings
from app.pixels.firing import ANY_HOST, NOTHING, Firing, as_script, firing
from app.pixels.provider import all_providers
from app.redirects.compiled_link import CompiledLink
from app.redirects.hosts import Site
from app.redirects.reader import Row
from app.web.urls import plain_host, without_port

# an element made by script takes any text: nothing in the text can end the page's own script element
OWNERS_SCRIPT = """(function (text) {
  var script = document.createElement("script");
  script.textContent = text;
  document.head.appendChild(script);
})(%s);"""


@dataclass(frozen=True)
class Scripts:
    """The scripts of one document: pixels, and the owner's own script."""

    pixels: Firing = NOTHING
    custom: str = ""

    def __bool__(self) -> bool:
        return bool(self.pixels or self.custom)

    def program(self, tell: str = "function () {}") -> str:
        """JavaScript that is safe in a script element. The pixels report their progress to the function
        `tell`."""
        pixels = self.pixels.program(tell)
        return "\n".join(part for part in (pixels and f"{pixels};", self.custom_program()) if part)

    def custom_program(self) -> str:
        return OWNERS_SCRIPT % as_script(self.custom) if self.custom else ""

    def policy(self) -> dict[str, str]:
        return dict(ANY_HOST) if self.custom else self.pixels.hosts()


NO_SCRIPTS = Scripts()


def scripts_of(details: Row, pixels: list[Row], *, cloaked: bool, fires: bool) -> Scripts:
    """All scripts of a link. The owner's own script runs only on a cloaked page."""
    fired = firing((row["type"], row["pixel"]) for row in pixels) if fires else NOTHING
    return Scripts(fired, (details.get("cloaking_custom_js") or "") if cloaked else "")


def parted(
    scripts: Scripts, compiled_link: CompiledLink, site: Site, host: str, settings: Settings
) -> tuple[Scripts, Scripts]:
    """The scripts that run with the page's origin, and those that run in a sandbox."""
    if site.domain_id and site.workspace_id == compiled_link.workspace_id:
        return scripts, NO_SCRIPTS
    if not site.domain_id and is_apart_from_dashboard(host, settings):
        providers, owners = scripts.pixels.parted()
        return Scripts(providers), Scripts(owners, scripts.custom)
    return NO_SCRIPTS, scripts


def boxed_types(host: str | None, settings: Settings) -> frozenset[str]:
    """The types of pixels that run in a sandbox on this host of the instance; None: on any of its hosts."""
    types = all_providers().items()
    is_apart = is_apart_from_dashboard(host, settings) if host else bool(settings.dashboard_url)
    return frozenset(type_ for type_, provider in types if provider.is_owners_script or not is_apart)


def is_apart_from_dashboard(host: str, settings: Settings) -> bool:
    """Whether a host is not the dashboard's. Another port does not suffice: cookies ignore ports."""
    if not settings.dashboard_url:
        return False
    owners = urlsplit(settings.dashboard_url).netloc
    return without_port(plain_host(owners)) != without_port(plain_host(host))
