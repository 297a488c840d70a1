"""Social cards: what chats and social networks show of a posted link."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from flask import request
from PIL import Image, UnidentifiedImageError

from app.links import uploads
from app.public.gates import path_of
from app.redirects import request_context
from app.redirects.compiled_link import CompiledLink
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
