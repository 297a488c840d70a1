"""The results of readable rows: a new link, a changed one, one that exists as the row says, or a problem."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import NamedTuple

from sqlalchemy import and_, insert, or_, select

from app.accounts.access import Access
from app.core.clock import now
from app.core.errors import FieldError, Invalid
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.import_export.attachments import Ids, handlers_for, pixels_for
from app.import_export.models import ImportedRow
from app.import_export.row_changes import RowChange
from app.import_export.row_targets import AliasKey
from app.import_export.rows import ParsedLink
from app.import_export.value_parsers import missing_names, named_ids
from app.links.aliases import key_of
from app.links.bulk_create import create_each
from app.links.models import Alias, LimitCounter, Link
from app.projects.models import Project

TAKEN = _l("This short link is taken.")
ELSEWHERE = _l("One of your links has this short link and another destination.")
TWICE = _l("An earlier row has the same short link.")
TWICE_CHANGED = _l("An earlier row is about the same link.")


class RowResult(NamedTuple):
    """The result of one row. `what`: `made`, `changed`, `known` or `failed`, as the import counts them.

    `is_listed`: whether its problems are stored already.
    """

    what: str
    problems: list[list[str]] = []  # noqa: RUF012  never changed
    is_listed: bool = False


@dataclass
class Claims:
    """What the rows of a table have taken so far: digests of aliases (`digest_of`), and ids of links."""

    aliases: set[int] = field(default_factory=set)
    links: set[int] = field(default_factory=set)

    def add(self, others: Claims) -> None:
        self.aliases |= others.aliases
        self.links |= others.links


def alias_key(wanted: ParsedLink | RowChange) -> AliasKey | None:
    """The domain and alias that the row takes; None where it takes none, or a generated one."""
    if isinstance(wanted, RowChange):
        return wanted.alias_key
    url = wanted.changes.get("url")
    return (wanted.changes.get("domain_id") or 0, key_of(url)) if url else None


def digest_of(key: AliasKey) -> int:
    """A 64-bit digest of a domain and alias, which saves memory with large tables."""
    return int.from_bytes(blake2b(f"{key[0]} {key[1]}".encode(), digest_size=8).digest(), signed=True)


def predict_results(
    workspace_id: int,
    wanted: Sequence[ParsedLink | RowChange],
    before: Claims | None = None,
    now_taken: Claims | None = None,
) -> list[RowResult]:
    """What the results of these rows would be now, in their order.

    `before`: the claims of earlier rows. Those of these rows are added to `now_taken`.
    """
    digests = known_digests(workspace_id, [one.digest for one in wanted if isinstance(one, ParsedLink)])
    holders = holders_of([key for one in wanted if (key := alias_key(one))])
    before, taken = before or Claims(), Claims() if now_taken is None else now_taken
    found = []
    for one in wanted:
        key = alias_key(one)
        digest = digest_of(key) if key else None
        holder = holders.get(key) if key else None
        if isinstance(one, ParsedLink) and one.digest in digests:
            found.append(RowResult("known"))
            continue
        if problem := said_before(one, digest, before, taken):
            found.append(RowResult("failed", [problem]))
        else:
            found.append(outcome_of(workspace_id, one, holder))
            taken.aliases |= {digest} if digest is not None else set()
        if isinstance(one, RowChange):
            taken.links.add(one.link_id)
        else:
            digests.add(one.digest)
    return found


def said_before(
    one: ParsedLink | RowChange, digest: int | None, before: Claims, taken: Claims
) -> list[str] | None:
    """The problem of a row about a link or an alias that an earlier row has. None for the first one."""
    if isinstance(one, RowChange) and (one.link_id in taken.links or one.link_id in before.links):
        return ["", TWICE_CHANGED]
    if digest is not None and (digest in taken.aliases or digest in before.aliases):
        return ["url", TWICE]
    return None


def outcome_of(workspace_id: int, one: ParsedLink | RowChange, holder: Holder | None) -> RowResult:
    """The result of a row that is the first about its link; `holder` has the alias that the row takes."""
    is_free = holder is None or holder.is_free_for(workspace_id)
    if isinstance(one, RowChange):
        return RowResult("known" if one.is_unchanged else "changed") if is_free else failed_alias(TAKEN)
    return RowResult("made") if is_free or holder is None else not_free(workspace_id, one, holder)


def not_free(workspace_id: int, one: ParsedLink, holder: Holder) -> RowResult:
    if holder.workspace_id == workspace_id:
        is_same = holder.location_url == one.changes["location_url"]
        return RowResult("known") if is_same else failed_alias(ELSEWHERE)
    return failed_alias(TAKEN)


def failed_alias(why: str) -> RowResult:
    return RowResult("failed", [["url", why]])


class Holder(NamedTuple):
    """The holder of an alias: a link, or for a time the owner of a deleted one."""

    workspace_id: int
    location_url: str | None
    is_held: bool

    def is_free_for(self, workspace_id: int) -> bool:
        return self.location_url is None and (self.workspace_id == workspace_id or not self.is_held)


def holders_of(keys: Sequence[AliasKey]) -> dict[AliasKey, Holder]:
    if not keys:
        return {}
    by_domain: dict[int, list[str]] = {}
    for domain_id, key in keys:
        by_domain.setdefault(domain_id, []).append(key)
    wanted = or_(*(and_(Alias.domain_id == id_, Alias.key.in_(found)) for id_, found in by_domain.items()))
    rows = select(Alias.domain_id, Alias.key, Alias.workspace_id, Alias.held_until, Link.location_url)
    moment = now()
    return {
        (row.domain_id, row.key): Holder(
            row.workspace_id, row.location_url, bool(row.held_until and row.held_until > moment)
        )
        for row in db.session.execute(rows.join(Link, Link.id == Alias.link_id, isouter=True).where(wanted))
    }


def known_digests(workspace_id: int, digests: Sequence[str]) -> set[str]:
    mine = select(ImportedRow.digest).where(
        ImportedRow.workspace_id == workspace_id, ImportedRow.digest.in_(digests)
    )
    return set(db.session.scalars(mine))


def make(
    access: Access, wanted: Sequence[ParsedLink], colors: Mapping[str, str] | None = None
) -> list[RowResult]:
    """Create the links. Call it inside a write transaction, so that the results stay valid until the commit.

    `colors`: those of missing projects, as far as the file contains them.
    """
    outcomes = predict_results(access.workspace_id, wanted)
    numbers = [number for number, outcome in enumerate(outcomes) if outcome.what == "made"]
    chosen = [wanted[number] for number in numbers]
    told = {one.project: one.project_color for one in chosen if one.project_color}
    named = {one.project for one in chosen if one.project}
    projects = projects_of(access, named, {**(colors or {}), **told})
    pixels = pixels_for(access, [one.pixels for one in chosen])
    handlers = handlers_for(access, [one.handlers for one in chosen])
    links = create_each(access, [changes_of(one, projects, pixels, handlers) for one in chosen])
    rows = [(link, one) for link, one in zip(links, chosen, strict=True) if link is not None]
    remember(access, rows)
    for number, link in zip(numbers, links, strict=True):
        if link is None:  # a concurrent writer has taken the alias (PostgreSQL)
            outcomes[number] = RowResult("failed", [["url", TAKEN]])
    return outcomes


def changes_of(
    one: ParsedLink | RowChange, projects: dict[str, int], pixels: Ids, handlers: Ids
) -> dict[str, object]:
    """The changes for the link. Raises Invalid where something the row names was deleted meanwhile."""
    found = dict(one.changes)
    if one.project:
        found["project_id"] = projects[one.project]
    if one.datetime:
        found["datetime"] = one.datetime
    for change, named, known in (
        ("pixels_ids", one.pixels, pixels),
        ("email_reports", one.handlers, handlers),
    ):
        if missing := missing_names(named.names, known):
            said = ", ".join(" ".join(name[:2]) for name in missing)
            raise Invalid(
                FieldError(_l("This is no longer available: %(said)s.", said=said), "not_found", change)
            )
        if named.names:
            found[change] = named_ids(named.names, known)
    return found


def projects_of(access: Access, names: Iterable[str], colors: Mapping[str, str]) -> dict[str, int]:
    """The ids of the owner's projects with these names, after missing ones were created."""
    mine = (
        select(Project.name, Project.id)
        .where(Project.workspace_id == access.workspace_id)
        .order_by(Project.id.desc())
    )
    found = dict(db.session.execute(mine).all())
    for name in sorted(set(names) - found.keys()):
        color = {"color": colors[name]} if name in colors else {}
        project = Project(**access.row_columns, name=name, **color)
        db.session.add(project)
        db.session.flush()
        found[name] = project.id
    return found


def remember(access: Access, made: Sequence[tuple[Link, ParsedLink]]) -> None:
    """Store what rows have beside their links: their digests, and earlier click counts."""
    connection = db.session.connection()
    rows = [{"link_id": link.id, **access.row_columns, "digest": one.digest} for link, one in made]
    counts = [{"link_id": link.id, "clicks": one.clicks} for link, one in made if one.clicks]
    if rows:
        connection.execute(insert(ImportedRow.__table__), rows)
    if counts:
        connection.execute(insert(LimitCounter.__table__), counts)
