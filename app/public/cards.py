"""Social cards: what chats and networks show of a link that somebody posts."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from flask import request
from PIL import Image, UnidentifiedImageError

from app.links import uploads
from app.public import here
from app.public.gates import path_of
from app.visits.plan import Plan
from app.visits.store import Row

Card = dict[str, Any]


def make_card(details: Row, plan: Plan) -> Card:
    """The card of a link, from the columns that its pages show.

    `title`, `description`, `address` of the link, `favicon`, `picture` and its `size` (pixels, width first);
    None where there is none. The owner's own `title`, a note to themselves, is never in it.
    """
    favicon, picture = details.get("cloaking_favicon"), details.get("cloaking_opengraph")
    return {
        "title": details.get("cloaking_title") or request.host,
        "description": details.get("cloaking_meta_description"),
        "favicon": favicon and f"/media/{favicon}",
        "picture": picture and f"{request.host_url}media/{picture}",
        "size": picture and size_of(picture),
        "address": request.host_url.rstrip("/") + path_of(plan),
    }


def card_of(plan: Plan) -> Card | None:
    """The card for a page before the destination; None of a link without one. Raises StoreDown."""
    if not plan.has_card:
        return None
    return make_card(here.desk().plans.store.page(plan.id) or {}, plan)


@lru_cache(maxsize=1_000)  # names of 37 characters: a file never changes under its name
def size_of(name: str) -> tuple[int, int] | None:
    """Width and height of one of our own pictures, of which only the head is read; None when it is gone."""
    try:
        with Image.open(uploads.directory() / name) as picture:
            return picture.size
    except (OSError, UnidentifiedImageError):
        return None
