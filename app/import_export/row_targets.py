"""The links that rows of a table mean: by id, else by domain and alias. Looked up once for many rows."""

# see docs/decisions/2026-11-24-imports-that-update.md
from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, NamedTuple

from sqlalchemy import and_, or_, select

from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.import_export.cell_text import storable
from app.import_export.exporter import TABLE, described
from app.import_export.row_texts import alias_of, hosts_of, texts_and_alias
from app.import_export.rows import ImportContext
from app.import_export.value_parsers import host_of
from app.input.forms import MAX_ID
from app.input.parsers import Rejected, parse_integer
from app.links.aliases import key_of
from app.links.models import Alias

Problems = list[list[str]]
AliasKey = tuple[int, str]


@dataclass(frozen=True)
class StoredLink:
    """A link as it is stored. `row` has its columns, `values` are those that an export of it has."""

    row: SimpleNamespace
    values: Mapping[str, Any]

    @property
    def id(self) -> int:
        found: int = self.row.id
        return found


class Meaning(NamedTuple):
    """What a row says about which link it means: an id, or a domain and alias."""

    id: int | None = None
    key: AliasKey | None = None


Target = StoredLink | Problems | None  # None: the row means no link that exists


def find_targets(workspace_id: int, meanings: Mapping[int, Meaning | Problems]) -> dict[int, Target]:
    """The link that each row means, by the row's number; the row's problems where it means none."""
    known = [one for one in meanings.values() if isinstance(one, Meaning)]
    ids = {one.id for one in known if one.id is not None}
    holders = ids_by_alias(workspace_id, {one.key for one in known if one.key})
    links = stored_links(workspace_id, ids | set(holders.values()))
    return {
        number: target_of(one, holders, links) if isinstance(one, Meaning) else one
        for number, one in meanings.items()
    }


def target_of(meaning: Meaning, holders: Mapping[AliasKey, int], links: Mapping[int, StoredLink]) -> Target:
    if meaning.id is None:
        holder = holders.get(meaning.key) if meaning.key else None
        return None if holder is None else links.get(holder)
    if meaning.id in links:
        return links[meaning.id]
    return [["id", _l("You have none with the id %(named)s.", named=str(meaning.id))]]


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
    whole = [text for text in (alias.text, alias.whole_address) if "/" in text.strip("/")]
    named = texts.get("domain") or (whole[0] if whole else "")
    domain_id = around.all_domains.get(host_of(named), around.domain_id) if named else around.domain_id
    key = key_of(url)
    # what no database stores is no link's alias
    return Meaning(key=(domain_id or 0, key)) if key and storable(key) == key else Meaning()


def ids_by_alias(workspace_id: int, keys: Collection[AliasKey]) -> dict[AliasKey, int]:
    """The ids of the user's links that have these aliases."""
    if not keys:
        return {}
    by_domain: dict[int, list[str]] = {}
    for domain_id, key in keys:
        by_domain.setdefault(domain_id, []).append(key)
    wanted = or_(*(and_(Alias.domain_id == id_, Alias.key.in_(found)) for id_, found in by_domain.items()))
    mine = select(Alias.domain_id, Alias.key, Alias.link_id).where(Alias.workspace_id == workspace_id, wanted)
    # None: a deleted link had it
    return {(domain_id, key): id_ for domain_id, key, id_ in db.session.execute(mine) if id_ is not None}


def stored_links(workspace_id: int, ids: Collection[int]) -> dict[int, StoredLink]:
    """The user's links with these ids, by id."""
    if not ids:
        return {}
    mine = select(TABLE).where(TABLE.c.workspace_id == workspace_id, TABLE.c.id.in_(ids))
    rows = db.session.connection().execute(mine).mappings().all()
    values = described(workspace_id, rows, lambda url, _domain: url)
    return {
        row["id"]: StoredLink(SimpleNamespace(**row), value) for row, value in zip(rows, values, strict=True)
    }
