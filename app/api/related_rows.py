"""What is beside links in other tables: read for all links of an answer at once, or known of a new one."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from typing import Any

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    FromClause,
    Select,
    String,
    bindparam,
    cast,
    literal_column,
    null,
    select,
    union_all,
)

from app.core.extensions import db
from app.domains.models import Domain
from app.links.clicks import COUNTS
from app.links.models import Link, LinkTag, link_notification_handler, link_pixel
from app.web.urls import links_site

NOTHING: ColumnElement[Any] = cast(null(), String)


def beside(kind: str, table: FromClause, number: str, text: ColumnElement[Any] = NOTHING) -> Select[Any]:
    """A query for rows in another table; `kind` names them in the result."""
    named: ColumnElement[Any] = literal_column(f"'{kind}'").label("kind")
    link_id, numbers = table.c.link_id.label("link_id"), table.c[number].label("number")
    return select(named, link_id, numbers, text.label("text"))


# one query, built once: building it takes longer than running it, and each round trip takes longest
ALL_BESIDE = (
    beside("pixels", link_pixel, "pixel_id"),
    beside("handlers", link_notification_handler, "notification_handler_id"),
    beside("tags", LinkTag.__table__, "position", LinkTag.__table__.c.tag),
    *(beside("clicks", counts, "clicks") for counts in COUNTS),
)
IDS: BindParameter[Any] = bindparam("ids", expanding=True)
BESIDE = union_all(*(each.where(each.selected_columns.link_id.in_(IDS)) for each in ALL_BESIDE))
OF_ONE = (each.where(each.selected_columns.link_id == bindparam("id")) for each in ALL_BESIDE)
BESIDE_ONE = union_all(*OF_ONE)


class RelatedRows:
    """Data of links from other tables, read once for all links of a page.

    Only ids are read: a page of 1,000 links needs no pixel's row, and no handler's secrets decrypted.
    """

    def __init__(self, links: Sequence[Link], beside: Iterable[Any]) -> None:
        self.domains = addresses({link.domain_id for link in links if link.domain_id})
        self.found: dict[tuple[str, int], list[tuple[int, str | None]]] = defaultdict(list)
        self.site = links_site()
        for kind, link_id, number, text in beside:
            self.found[kind, link_id].append((number, text))

    def numbers(self, kind: str, link: Link) -> list[int]:
        return sorted(number for number, _ in self.found.get((kind, link.id), ()))

    def tags(self, link: Link) -> list[str | None]:
        return [tag for _, tag in sorted(self.found.get(("tags", link.id), ()))]


def read_beside(ids: Sequence[int]) -> Iterable[Any]:
    if len(ids) == 1:  # a list of ids is written into the statement anew each time
        return db.session.connection().execute(BESIDE_ONE, {"id": ids[0]})
    return db.session.connection().execute(BESIDE, {"ids": ids})


def made_beside(link: Link) -> Iterable[Any]:
    """The same of a link that this transaction has created, without a query: what it was created with."""
    made = vars(link)  # what is not there was not given; to look at the attribute would read it
    yield from (("pixels", link.id, pixel.id, None) for pixel in made.get("pixels", ()))
    yield from (("handlers", link.id, handler.id, None) for handler in made.get("handlers", ()))
    yield from (("tags", link.id, row.position, row.tag) for row in made.get("tag_rows", ()))


def addresses(ids: Collection[int]) -> dict[int, str]:
    """Scheme and host of these domains, by id."""
    if not ids:
        return {}
    found = db.session.execute(select(Domain.id, Domain.scheme, Domain.host).where(Domain.id.in_(ids)))
    return {id_: f"{scheme}{host}" for id_, scheme, host in found}
