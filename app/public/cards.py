"""Social cards: what chats and social networks show of a posted link; and the page `/{alias}+`.

That page shows the destination of a link without opening it.
"""

from __future__ import annotations

import datetime as dt
from functools import lru_cache
from typing import Any

from flask import Response, request
from PIL import Image, UnidentifiedImageError

from app.core.urls import host_of
from app.links import uploads
from app.public import answers
from app.public.gates import path_of
from app.redirects import request_context
from app.redirects.compiled_link import CompiledLink
from app.redirects.location import encode_location, with_query
from app.redirects.reader import Row

Card = dict[str, Any]


def make_card(details: Row, compiled_link: CompiledLink) -> Card:
    """The card of a link, from the columns that its pages show.

    `title`, `description`, `address` of the link, `favicon`, `picture` and its `size` (pixels, width first);
    each is None where it is not set. The link's own `title`, a note of the owner's, is never in it.
    """
    favicon, picture = details.get("cloaking_favicon"), details.get("cloaking_opengraph")
    return {
        "title": details.get("cloaking_title") or request.host,
        "description": details.get("cloaking_meta_description"),
        "favicon": favicon and f"/media/{favicon}",
        "picture": picture and f"{request.host_url}media/{picture}",
        "size": picture and read_size(picture),
        "address": request.host_url.rstrip("/") + path_of(compiled_link),
    }


def card_of(compiled_link: CompiledLink) -> Card | None:
    """The card for an interstitial; None for a link without one. Raises StoreDown."""
    if not compiled_link.has_card:
        return None
    return make_card(
        request_context.redirect_context().compiled_links.store.page_details(compiled_link.id) or {},
        compiled_link,
    )


@lru_cache(maxsize=1_000)  # names of 37 characters: a file never changes under its name
def read_size(name: str) -> tuple[int, int] | None:
    """Width and height of an uploaded picture, read from its header alone; None when it is gone."""
    try:
        with Image.open(uploads.path_of(name)) as picture:
            return picture.size
    except (OSError, UnidentifiedImageError):
        return None


SIGN = "+"  # no alias has one


def path_of_link(path: str) -> str | None:
    """The path of the link, without the sign; None for a path that does not ask for this page."""
    name = path.removesuffix("/")
    return name.removesuffix(SIGN) if name.endswith(SIGN) else None


def render_preview(path: str) -> Response | None:
    """The page about the link with this path; None where there is none, or its destination is not public."""
    compiled_link = request_context.redirect_context().compiled_links.find(request_context.host(), path)
    location = leads_to(compiled_link, dt.datetime.now(dt.UTC)) if compiled_link else None
    if compiled_link is None or location is None:
        return None
    details = request_context.redirect_context().compiled_links.store.page_details(compiled_link.id) or {}
    return answers.render_page(
        "leads",
        200,
        template="public/leads.html",
        link_title=details.get("title"),
        host=host_of(location),
        location=location,
        path=path_of(compiled_link),
    )


def leads_to(compiled_link: CompiledLink, now: dt.datetime) -> str | None:
    """The stored destination of an active link that redirects every visitor to it; None for any other."""
    is_closed = (
        compiled_link.password_hash
        or compiled_link.sensitive_content
        or compiled_link.targeting_type
        or compiled_link.cloaking_is_enabled
    )
    is_limited = compiled_link.clicks_limit is not None
    starts, ends = compiled_link.start_date, compiled_link.end_date
    is_active = (
        compiled_link.is_enabled and (starts is None or starts <= now) and (ends is None or now < ends)
    )
    if is_closed or is_limited or not is_active:
        return None
    return encode_location(with_query(compiled_link.location_url, compiled_link.utm), compiled_link.schemes)
