"""Where do an owner's pixels run without their providers' cookies, and what is he told about it?"""

from __future__ import annotations

from collections.abc import Iterable
from urllib.parse import urlsplit

from app import own_addresses
from app.dashboard.link_rows import own_host
from app.pixels.provider import Provider, all_providers
from app.public.scripts import boxed_types

COUNTS = "views are counted, but without {label}’s cookies, so it recognises nobody"
CLOSED = "a container runs closed off, so its tags see neither the page nor any cookies"
CURE = "On links of a domain of your own that is different."


def boxed() -> frozenset[str]:
    """The types of pixels that are boxed on links without a domain of the owner's own."""
    settings = own_addresses.settings()
    host = urlsplit(settings.base_url).netloc if settings.base_url else None
    return boxed_types(host, settings)


def pixel_notes() -> dict[str, str]:
    """For each type that loses its cookies: what that means."""
    return {type_: said(all_providers()[type_]) for type_ in sorted(boxed())}


def said(provider: Provider) -> str:
    what = CLOSED if provider.is_owners_script else COUNTS.format(label=provider.label)
    return f"On {own_host()} {what}. {CURE}"


def link_note(types: Iterable[str]) -> str | None:
    """For a link without a domain, whose owner has pixels of these types."""
    lost = boxed() & set(types)
    if not lost:
        return None
    if all(all_providers()[type_].is_owners_script for type_ in lost):
        return f"On {own_host()} {CLOSED}. {CURE}"
    return f"On {own_host()} {COUNTS.format(label='the provider')}. {CURE}"
