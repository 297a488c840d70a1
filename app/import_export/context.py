"""What the rows of a table may refer to: domains, pixels, handlers, and links that exist.

It is looked up once for many rows. A row means a link by its id, else by domain and alias.
"""

# see docs/decisions/2026-11-24-imports-that-update.md
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

from sqlalchemy import and_, or_, select

from app.accounts.access import Access
from app.core.clock import now
from app.core.config import Settings
from app.core.extensions import db
from app.domains.models import Domain
from app.i18n.messages import lazy_gettext as _l
from app.import_export.attachments import handler_ids, ids_by
from app.import_export.cells import (
    alias_of,
    flag_of,
    host_of,
    hosts_of,
    loaded,
    tags_of,
    texts_and_alias,
)
from app.import_export.columns import Conventions
from app.import_export.exporter import TABLE, described
from app.import_export.models import LinkImport
from app.import_export.readers.archive import ArchiveReader
from app.import_export.readers.reader import storable
from app.input.forms import MAX_ID
from app.input.parsers import Rejected, parse_integer
from app.links.aliases import key_of
from app.links.destination import netloc_of
from app.links.models import Alias, Link
from app.pixels.models import Pixel

Problems = list[list[str]]
AliasKey = tuple[int, str]


class ImportContext:
    """What an owner's rows may name, read once for all of them.

    `domains` are the verified and enabled ones by host, `all_domains` also those that can't be used now;
    `domain_id` and `project` are for rows that name none. `pixels` and `handlers` are ids by all names that a
    row may have for them. `archive` is the ZIP that the table is in.
    """

    def __init__(
        self,
        access: Access,
        job: LinkImport,
        settings: Settings,
        conventions: Conventions,
        archive: ArchiveReader | None,
    ) -> None:
        self.owner, self.settings, self.conventions, self.archive = access, settings, conventions, archive
        # of a host that stands twice the verified one
        mine = select(Domain).where(Domain.workspace_id == access.workspace_id)
        every = list(db.session.scalars(mine.order_by(Domain.is_verified, Domain.id)))
        self.all_domains = {domain.host: domain.id for domain in every}
        self.domains = {
            domain.host: domain.id for domain in every if domain.is_verified and domain.is_enabled
        }
        self.own_hosts = own_hosts(settings, job.host)
        self.pixels = {
            **ids_by((Pixel.type, Pixel.pixel), Pixel, access.workspace_id),
            **ids_by((Pixel.type, Pixel.pixel, Pixel.name), Pixel, access.workspace_id),
        }
        self.handlers = handler_ids(access.workspace_id)
        self.domain_id = job.domain_id if job.domain_id in self.domains.values() else None
        self.project, self.clears_empty = job.project, job.clears_empty


def own_hosts(settings: Settings, host: str) -> frozenset[str]:
    """Every host whose URLs could be short links of this instance."""
    known = (settings.base_url, settings.dashboard_url, host and f"http://{host}")
    named = {netloc_of(text) for text in known if text}
    return frozenset(named | set(db.session.scalars(select(Domain.host).where(Domain.is_verified))))


# --- links that exist


@dataclass(frozen=True)
class StoredLink:
    """A link as it is stored. `row` has its columns, `values` are those that an export of it has."""

    row: SimpleNamespace
    values: Mapping[str, Any]

    def says(self, name: str, text: str) -> bool:
        """Whether a cell says what an export of the link has, in this or another spelling."""
        value = self.values.get(name)
        if isinstance(value, bool):
            same = ("1", "true", "on", "yes") if value else ("0", "false", "off", "no")
            return flag_of(text).lower() in same
        if value is None or value in ([], ""):
            return text in ("[]", "{}")
        if isinstance(value, list):
            return (tags_of(text) if name == "tags" else loaded(text)) == value
        return one_line_end(text) == one_line_end(str(value))


def one_line_end(text: str) -> str:
    """The text with the line ends that every spreadsheet writes in its own way."""
    return text.replace("\r\n", "\n").replace("\r", "\n")


class Meaning(NamedTuple):
    """What a row says about which link it means: an id, or a domain and alias."""

    id: int | None = None
    key: AliasKey | None = None


Target = StoredLink | Problems | None  # None: the row means no link that exists


def meaning_of(cells: Mapping[str, str], columns: Mapping[str, str], around: ImportContext) -> Meaning:
    """Raises Rejected for an id that is no number."""
    texts, alias = texts_and_alias(cells, columns, around.conventions)
    if "id" in texts:
        return Meaning(id=parse_integer(texts["id"].strip(), 1, MAX_ID))
    hosts = hosts_of(texts, alias.whole_address) | around.all_domains.keys() | around.own_hosts
    try:
        url = alias_of(alias.text, hosts, is_address=alias.is_address)
    except Rejected:  # reported where the row is read as a new link
        return Meaning()
    named = texts.get("domain") or alias.named_domain
    domain_id = around.all_domains.get(host_of(named), around.domain_id) if named else around.domain_id
    key = key_of(url)
    # what no database stores is no link's alias
    return Meaning(key=(domain_id or 0, key)) if key and storable(key) == key else Meaning()


def find_targets(workspace_id: int, meanings: Mapping[int, Meaning | Problems]) -> dict[int, Target]:
    """The link that each row means, by the row's number; the row's problems where it means none."""
    known = [one for one in meanings.values() if isinstance(one, Meaning)]
    ids = {one.id for one in known if one.id is not None}
    holders = {
        key: holder.link_id
        for key, holder in holders_of({one.key for one in known if one.key}).items()
        if holder.workspace_id == workspace_id and holder.link_id is not None
    }
    links = stored_links(workspace_id, ids | set(holders.values()))

    def target_of(meaning: Meaning) -> Target:
        if meaning.id is None:
            return links.get(holders.get(meaning.key, 0)) if meaning.key else None
        if meaning.id in links:
            return links[meaning.id]
        return [["id", _l("You have none with the id %(named)s.", named=str(meaning.id))]]

    return {number: target_of(one) if isinstance(one, Meaning) else one for number, one in meanings.items()}


class Holder(NamedTuple):
    """The holder of an alias: a link, or (`link_id` is None) for a time the owner of a deleted one."""

    workspace_id: int
    link_id: int | None
    location_url: str | None
    is_held: bool

    def is_free_for(self, workspace_id: int) -> bool:
        return self.link_id is None and (self.workspace_id == workspace_id or not self.is_held)


def holders_of(keys: Collection[AliasKey]) -> dict[AliasKey, Holder]:
    if not keys:
        return {}
    by_domain: dict[int, list[str]] = {}
    for domain_id, key in keys:
        by_domain.setdefault(domain_id, []).append(key)
    wanted = or_(*(and_(Alias.domain_id == id_, Alias.key.in_(found)) for id_, found in by_domain.items()))
    rows = select(
        Alias.domain_id, Alias.key, Alias.workspace_id, Alias.held_until, Link.id, Link.location_url
    )
    moment = now()
    return {
        (row.domain_id, row.key): Holder(
            row.workspace_id, row.id, row.location_url, bool(row.held_until and row.held_until > moment)
        )
        for row in db.session.execute(rows.join(Link, Link.id == Alias.link_id, isouter=True).where(wanted))
    }


def stored_links(workspace_id: int, ids: Collection[int]) -> dict[int, StoredLink]:
    """The workspace's links with these ids, by id."""
    if not ids:
        return {}
    mine = select(TABLE).where(TABLE.c.workspace_id == workspace_id, TABLE.c.id.in_(ids))
    rows = db.session.connection().execute(mine).mappings().all()
    values = described(workspace_id, rows, lambda url, _domain: url)
    return {
        row["id"]: StoredLink(SimpleNamespace(**row), value) for row, value in zip(rows, values, strict=True)
    }
