"""Demo links: the fields to make them with, and how they are visited.

`demo.toml` explains the rows of the links and of their visitors.
"""

from __future__ import annotations

import datetime as dt
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from random import Random
from typing import Any

from app.input.data import Value

Fields = dict[str, Value]
SITE = "https://example.com"
CONTENT = tomllib.loads((Path(__file__).parent / "demo.toml").read_text("utf-8"))


@dataclass(frozen=True)
class Surroundings:
    """What the fields of a link can name: existing rows, and times relative to now."""

    now: dt.datetime
    days: int
    projects: list[int]
    pixels: list[int]
    handlers: list[int]
    domain: int | None
    pictures: Fields = field(default_factory=dict)

    def days_of(self, text: str) -> float:
        """Days from now: `+14`, or a part of the demo's days, `-1/3`."""
        return float(Fraction(text) * self.days if "/" in text else Fraction(text))

    def moments(self, texts: Mapping[str, str]) -> Fields:
        """Times by the names of fields, as a form takes them."""
        moments = {name: self.now + dt.timedelta(days=self.days_of(text)) for name, text in texts.items()}
        return {name: moment.strftime("%Y-%m-%d %H:%M") for name, moment in moments.items()}

    def attached(self, what: str) -> Fields:
        """The fields that attach all pixels, all handlers, the domain or the pictures to a link."""
        if what == "domain":
            return {"domain_id": str(self.domain)}
        if what == "pictures":
            return self.pictures
        name, ids = ("pixels_ids", self.pixels) if what == "pixels" else ("email_reports", self.handlers)
        return {f"{name}[{index}]": str(id_) for index, id_ in enumerate(ids)}


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


def every_kind(around: Surroundings) -> Iterator[DemoLink]:
    """The links of the table. Without a domain of the demo's own none is on one."""
    for row in CONTENT["links"]:
        if row.get("attached") != "domain" or around.domain is not None:
            yield demo_link(row, around)


def demo_link(row: Mapping[str, Any], around: Surroundings) -> DemoLink:
    if "targeting" in row:
        [(type_, pages)] = row["targeting"].items()
        fields = targeted(row["url"], type_, pages)
    else:
        fields = named(row["url"], row["page"], row["title"])
    if "project" in row:
        fields["project_id"] = str(around.projects[row["project"]])
    attached = around.attached(row["attached"]) if "attached" in row else {}
    return DemoLink(
        {**fields, **row.get("fields", {}), **around.moments(row.get("moments", {})), **attached},
        {**row.get("later", {}), **around.moments(row.get("later_moments", {}))},
        share=row.get("share", 1.0),
        most=row.get("most"),
        until=around.days_of(row.get("until", "0")),
        launch=row.get("launch", False),
    )


def bulk() -> Fields:
    """The fields of three links made in bulk."""
    lines = "\n".join(f"{SITE}/leaflet/{number}" for number in range(1, 4))
    return {"is_bulk": "1", "location_urls": lines, "title": "Leaflets", "tags[]": "print"}


def everyday(rng: Random, count: int, around: Surroundings) -> Iterator[DemoLink]:
    """Ordinary links that make up the number, each with an alias of its own."""
    for number in range(1, count + 1):
        noun, place = rng.choice(CONTENT["nouns"]), rng.choice(CONTENT["places"])
        fields = named(f"{noun}-{place}-{number}", f"{place}/{noun}", f"{noun.title()}, {place.title()}")
        fields["tags[]"] = rng.choice(("print", "social", "mail"))
        fields["project_id"] = str(rng.choice((0, *around.projects)))
        yield DemoLink(fields, share=rng.paretovariate(1.3) / 3)
