"""Demo links: the fields to make them with, and how they are visited."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from dataclasses import dataclass, field
from random import Random

from app.input.data import Value

Fields = dict[str, Value]
SITE = "https://example.com"


@dataclass(frozen=True)
class Surroundings:
    """What the fields of a link can name: existing rows, and times relative to now."""

    now: dt.datetime
    days: int
    projects: list[int]
    pixels: list[int]
    handlers: list[int]
    domain: int | None

    def moment(self, days: float) -> str:
        """The time so many days from now, as a form takes it."""
        return (self.now + dt.timedelta(days=days)).strftime("%Y-%m-%d %H:%M")


@dataclass(frozen=True)
class DemoLink:
    """One link to make: what is sent for it, what is set once it has its past clicks, and how it is visited.

    `share`: of all clicks, relative to other links. `most`: the maximum of clicks. `until`: the last day with
    visits, counted from today. `launch`: most visits come at once, and then fewer and fewer.
    """

    fields: Fields
    later: Fields = field(default_factory=dict)
    share: float = 1.0
    most: int | None = None
    until: float = 0
    launch: bool = False


def named(url: str, page: str, title: str, **fields: Value | int) -> Fields:
    """The fields of a link to a page of the site."""
    sent: Fields = {"url": url, "location_url": page if ":" in page else f"{SITE}/{page}", "title": title}
    return sent | {name: str(value) if isinstance(value, int) else value for name, value in fields.items()}


def targeted(url: str, type_: str, pages: dict[str, str]) -> Fields:
    """The fields of a link with targeting, whose other visitors get the international page."""
    fields = named(url, "international", f"Sent on by {type_.replace('_', ' ')}", targeting_type=type_)
    for index, (key, page) in enumerate(pages.items()):
        fields[f"targeting_{type_}_key[{index}]"] = key
        fields[f"targeting_{type_}_value[{index}]"] = f"{SITE}/{page}"
    return fields


def members(name: str, ids: list[int]) -> Fields:
    return {f"{name}[{index}]": str(id_) for index, id_ in enumerate(ids)}


def bulk() -> Fields:
    """The fields of three links made in bulk."""
    lines = "\n".join(f"{SITE}/leaflet/{number}" for number in range(1, 4))
    return {"is_bulk": "1", "location_urls": lines, "title": "Leaflets", "tags[]": "print"}


NOUNS = (
    "guide",
    "poster",
    "flyer",
    "menu",
    "talk",
    "survey",
    "podcast",
    "recipe",
    "map",
    "photo",
    "report",
    "faq",
)
PLACES = (
    "berlin",
    "paris",
    "lisbon",
    "oslo",
    "kyoto",
    "quito",
    "accra",
    "austin",
    "perth",
    "turin",
    "bergen",
)


def everyday(rng: Random, count: int, around: Surroundings) -> Iterator[DemoLink]:
    """Ordinary links that make up the number, each with an alias of its own."""
    for number in range(1, count + 1):
        noun, place = rng.choice(NOUNS), rng.choice(PLACES)
        fields = named(f"{noun}-{place}-{number}", f"{place}/{noun}", f"{noun.title()}, {place.title()}")
        fields["tags[]"] = rng.choice(("print", "social", "mail"))
        fields["project_id"] = str(rng.choice((0, *around.projects)))
        yield DemoLink(fields, share=rng.paretovariate(1.3) / 3)
