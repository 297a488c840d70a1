"""Which scripts come with a link, which of them may run with the page's origin here, and which are boxed?

A script that runs with the origin of the dashboard can read the dashboard. So what an owner writes himself
runs like that on his own domain only, and what providers write also where the dashboard is elsewhere; all
else runs in a box, `sandbox allow-scripts`, whose origin is nobody's.
"""

from __future__ import annotations

from dataclasses import dataclass
from urllib.parse import urlsplit

from app.config import Settings
from app.pixels.firing import ANY_HOST, NOTHING, Firing, as_script, firing
from app.pixels.provider import all_providers
from app.visits.hosts import Site, plain_host, without_port
from app.visits.plan import Plan
from app.visits.store import Row

# an element made by script takes any text: nothing in it can end the page's own script element
OWNERS_SCRIPT = """(function (text) {
  var script = document.createElement("script");
  script.textContent = text;
  document.head.appendChild(script);
})(%s);"""


@dataclass(frozen=True)
class Scripts:
    """What runs together in one document: pixels, and a script of the owner's own."""

    pixels: Firing = NOTHING
    custom: str = ""

    def __bool__(self) -> bool:
        return bool(self.pixels or self.custom)

    def program(self, tell: str = "function () {}") -> str:
        """JavaScript that is safe in a script element; `tell` is told how far the pixels are."""
        pixels = self.pixels.program(tell)
        return "\n".join(part for part in (pixels and f"{pixels};", self.custom_program()) if part)

    def custom_program(self) -> str:
        return OWNERS_SCRIPT % as_script(self.custom) if self.custom else ""

    def policy(self) -> dict[str, str]:
        return dict(ANY_HOST) if self.custom else self.pixels.hosts()


NO_SCRIPTS = Scripts()


def scripts_of(details: Row, pixels: list[Row], *, cloaked: bool, fires: bool) -> Scripts:
    """All that comes with a link. A script of the owner's own belongs to cloaking."""
    fired = firing((row["type"], row["pixel"]) for row in pixels) if fires else NOTHING
    return Scripts(fired, (details.get("cloaking_custom_js") or "") if cloaked else "")


def parted(
    scripts: Scripts, plan: Plan, site: Site, host: str, settings: Settings
) -> tuple[Scripts, Scripts]:
    """What runs with the page's origin, and what is boxed."""
    if site.domain_id and site.user_id == plan.user_id:
        return scripts, NO_SCRIPTS
    if not site.domain_id and is_apart_from_dashboard(host, settings):
        providers, owners = scripts.pixels.parted()
        return Scripts(providers), Scripts(owners, scripts.custom)
    return NO_SCRIPTS, scripts


def boxed_types(host: str | None, settings: Settings) -> frozenset[str]:
    """The types of pixels that are boxed on the instance's own host; None: on any that serves its links."""
    types = all_providers().items()
    is_apart = is_apart_from_dashboard(host, settings) if host else bool(settings.dashboard_url)
    return frozenset(type_ for type_, provider in types if provider.is_owners_script or not is_apart)


def is_apart_from_dashboard(host: str, settings: Settings) -> bool:
    """Another port is not apart: cookies do not know ports."""
    if not settings.dashboard_url:
        return False
    owners = urlsplit(settings.dashboard_url).netloc
    return without_port(plain_host(owners)) != without_port(plain_host(host))
