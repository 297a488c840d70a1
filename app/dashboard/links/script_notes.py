"""Notes on how each pixel provider runs on the links of this instance: sandboxed, or with its cookies."""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from app.dashboard.links.rows import own_host
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.pixels.provider import Provider, all_providers
from app.redirects.page_scripts import boxed_types
from app.web import application

CURE = _l(
    "Cookies work on a domain of your own, or once the dashboard has its own address (WAYPOST_DASHBOARD_URL)."
)
CONTAINER_CURE = _l("On a domain of your own it runs in the page itself.")
PICTURE = _l("If its script is blocked, an image counts the click.")
NO_PICTURE = _l("If its script is blocked, or JavaScript is off, the click is not counted.")


def boxed() -> frozenset[str]:
    """The types of pixels that are sandboxed on links without a domain of the owner's own."""
    settings = application.settings()
    host = urlsplit(settings.base_url).netloc if settings.base_url else None
    return boxed_types(host, settings)


def pixel_notes() -> dict[str, str]:
    """How a pixel of each type runs on links without an own domain, and what that means."""
    return {type_: describe_provider(type_, provider) for type_, provider in all_providers().items()}


def describe_provider(type_: str, provider: Provider) -> str:
    if provider.is_owners_script:
        return describe_container()
    blocked = PICTURE if provider.picture else NO_PICTURE
    if type_ in boxed():
        return f"{describe_boxed(provider.label)} {blocked}"
    return f"{describe_open(provider.label)} {blocked}"


def describe_container() -> str:
    runs = _(
        "On %(host)s, a container runs in a sandboxed frame: its tags see no cookies and no page.",
        host=own_host(),
    )
    return f"{runs} {CONTAINER_CURE}"


def describe_boxed(label: str) -> str:
    runs = _(
        "On %(host)s, %(label)s runs in a sandboxed frame: clicks are counted, but without "
        "cookies, so returning visitors are not recognised.",
        host=own_host(),
        label=label,
    )
    return f"{runs} {CURE}"


def describe_open(label: str) -> str:
    return _(
        "On %(host)s, %(label)s runs with its cookies, because the dashboard has its own address.",
        host=own_host(),
        label=label,
    )


def link_note(types: Iterable[str]) -> str | None:
    """The note for a link without a domain, whose owner has pixels of these types."""
    lost = boxed() & set(types)
    if not lost:
        return None
    if all(all_providers()[type_].is_owners_script for type_ in lost):
        return describe_container()
    runs = _(
        "On %(host)s, each pixel runs in a sandboxed frame: clicks are counted, but without cookies, so "
        "returning visitors are not recognised.",
        host=own_host(),
    )
    return f"{runs} {CURE}"
