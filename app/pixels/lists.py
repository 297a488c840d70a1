"""Filters and sort orders of the list of pixels."""

from __future__ import annotations

from app.input.listing import Listing, contains, one_of
from app.pixels.models import Pixel
from app.pixels.provider import all_providers

WORDS = {type_: type_ for type_ in all_providers()} | {
    word: type_ for type_, provider in all_providers().items() for word in provider.words
}

LISTING = Listing(
    model=Pixel,
    filters={
        "search": lambda text, params: contains(text, Pixel.name, Pixel.pixel),  # noqa: ARG005
        "type": lambda text, params: Pixel.type == WORDS[one_of(list(WORDS))(text)],  # noqa: ARG005
    },
    orders={
        "pixel_id": Pixel.id,
        "datetime": Pixel.datetime,
        "last_datetime": Pixel.last_datetime,
        "name": Pixel.name,
    },
)
