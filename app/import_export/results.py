"""The results of readable rows: a new link, a changed one, one that exists as the row says, or a problem."""

# see docs/decisions/2026-11-24-imports-that-update.md
from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any, NamedTuple

from sqlalchemy import insert, select

from app.accounts.access import Access
from app.core.errors import FieldError, Invalid, WaypostError
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.import_export.attachments import handlers_for, pixels_for
from app.import_export.cells import missing_names, named_ids
from app.import_export.context import AliasKey, Holder, StoredLink, holders_of, stored_links
from app.import_export.models import ImportedRow
from app.import_export.rows import ParsedRow, shown_value
from app.links import services, uploads
from app.links.bulk_create import create_each
from app.links.bulk_edit import GONE
from app.links.models import LimitCounter, Link
from app.projects.models import Project

TAKEN = _l("This short link is taken.")
ELSEWHERE = _l("One of your links has this short link and another destination.")
TWICE = _l("An earlier row has the same short link.")
TWICE_CHANGED = _l("An earlier row is about the same link.")
MEANWHILE = _l("This was changed meanwhile. Check the file again.")


class RowResult(NamedTuple):
    """The result of one row. `what`: `made`, `changed`, `known` or `failed`, as the import counts them.

    `is_listed`: whether its problems are stored already.
    """

    what: str
    problems: list[list[str]] = []  # noqa: RUF012  never changed
    is_listed: bool = False


def failed(error: WaypostError) -> RowResult:
    return RowResult("failed", [[problem.field or "", problem.title] for problem in error.errors])


def failed_alias(why: str) -> RowResult:
    return RowResult("failed", [["url", why]])


# --- predicted


@dataclass
class Claims:
    """What the rows of a table have taken so far: digests of aliases (`digest_of`), and ids of links."""

    aliases: set[int] = field(default_factory=set)
    links: set[int] = field(default_factory=set)

    def add(self, others: Claims) -> None:
        self.aliases |= others.aliases
        self.links |= others.links


def digest_of(key: AliasKey) -> int:
    """A 64-bit digest of a domain and alias, which saves memory with large tables."""
    return int.from_bytes(blake2b(f"{key[0]} {key[1]}".encode(), digest_size=8).digest(), signed=True)


def predict_results(
    workspace_id: int, wanted: Sequence[ParsedRow], before: Claims | None = None, taken: Claims | None = None
) -> list[RowResult]:
    """What the results of these rows would be now, in their order.

    `before`: the claims of earlier rows. Those of these rows are added to `taken`.
    """
    digests = known_digests(workspace_id, [one.digest for one in wanted if one.is_new])
    holders = holders_of([one.alias_key for one in wanted if one.alias_key])
    before, taken = before or Claims(), Claims() if taken is None else taken
    found = []
    for one in wanted:
        digest = digest_of(one.alias_key) if one.alias_key else None
        if one.is_new and one.digest in digests:
            found.append(RowResult("known"))
            continue
        if problem := said_before(one, digest, before, taken):
            found.append(RowResult("failed", [problem]))
        else:
            holder = holders.get(one.alias_key) if one.alias_key else None
            found.append(first_result(workspace_id, one, holder))
            taken.aliases |= {digest} if digest is not None else set()
        if one.link_id is None:
            digests.add(one.digest)
        else:
            taken.links.add(one.link_id)
    return found


def said_before(one: ParsedRow, digest: int | None, before: Claims, taken: Claims) -> list[str] | None:
    """The problem of a row about a link or an alias that an earlier row has. None for the first one."""
    if one.link_id in taken.links or one.link_id in before.links:
        return ["", TWICE_CHANGED]
    if digest is not None and (digest in taken.aliases or digest in before.aliases):
        return ["url", TWICE]
    return None


def first_result(workspace_id: int, one: ParsedRow, holder: Holder | None) -> RowResult:
    """The result of a row that is the first about its link; `holder` has the alias that the row takes."""
    if holder is None or holder.is_free_for(workspace_id):
        return RowResult("made" if one.is_new else "known" if one.is_unchanged else "changed")
    if not one.is_new or holder.workspace_id != workspace_id:
        return failed_alias(TAKEN)
    is_same = holder.location_url == one.changes["location_url"]
    return RowResult("known") if is_same else failed_alias(ELSEWHERE)


def known_digests(workspace_id: int, digests: Sequence[str]) -> set[str]:
    mine = ImportedRow.workspace_id == workspace_id, ImportedRow.digest.in_(digests)
    return set(db.session.scalars(select(ImportedRow.digest).where(*mine)))


# --- written


def make(access: Access, wanted: Sequence[ParsedRow]) -> list[RowResult]:
    """Create the links. Call it inside a write transaction: the results stay valid until the commit."""
    outcomes = predict_results(access.workspace_id, wanted)
    numbers = [number for number, outcome in enumerate(outcomes) if outcome.what == "made"]
    chosen = [wanted[number] for number in numbers]
    links = create_each(access, changes_of(access, chosen))
    remember(access, [(link, one) for link, one in zip(links, chosen, strict=True) if link is not None])
    for number, link in zip(numbers, links, strict=True):
        if link is None:  # a concurrent writer has taken the alias (PostgreSQL)
            outcomes[number] = failed_alias(TAKEN)
    return outcomes


def remember(access: Access, made: Sequence[tuple[Link, ParsedRow]]) -> None:
    """Store what rows have beside their links: their digests, and earlier click counts."""
    connection = db.session.connection()
    rows = [{"link_id": link.id, **access.row_columns, "digest": one.digest} for link, one in made]
    counts = [{"link_id": link.id, "clicks": one.clicks} for link, one in made if one.clicks]
    if rows:
        connection.execute(insert(ImportedRow.__table__), rows)
    if counts:
        connection.execute(insert(LimitCounter.__table__), counts)


def update_each(access: Access, wanted: Sequence[ParsedRow]) -> list[RowResult]:
    """Change the links, each wholly or not at all; what is not as it was read is not changed.

    Call it inside a write transaction.
    """
    if not wanted:
        return []
    ids = [one.link_id for one in wanted if one.link_id is not None]
    mine = select(Link).where(Link.workspace_id == access.workspace_id, Link.id.in_(ids)).order_by(Link.id)
    links = {link.id: link for link in db.session.scalars(mine.with_for_update())}
    stored = stored_links(access.workspace_id, ids)
    return [
        update_one(access, links[one.link_id], stored[one.link_id], one)
        if one.link_id in links
        else RowResult("failed", [["", GONE]])
        for one in wanted
    ]


def update_one(access: Access, link: Link, stored: StoredLink, one: ParsedRow) -> RowResult:
    late = [name for name, was, _ in one.differences if was != shown_value(name, stored.values.get(name))]
    if late:
        return RowResult("failed", [[name, MEANWHILE] for name in late])
    kept = uploads.mark()
    try:
        with db.session.begin_nested():
            services.update(link, changes_of(access, [one])[0])
    except WaypostError as error:
        uploads.back_to(kept)
        return failed(error)
    return RowResult("changed")


def changes_of(access: Access, rows: Sequence[ParsedRow]) -> list[dict[str, Any]]:
    """The changes for the links, after missing projects, pixels and handlers were created.

    Raises Invalid where something that a row names was deleted meanwhile.
    """
    projects = projects_of(access, rows)
    pixels = pixels_for(access, [row.pixels for row in rows])
    handlers = handlers_for(access, [row.handlers for row in rows])
    found = []
    for row in rows:
        changes = {**row.changes, **({"datetime": row.datetime} if row.datetime else {})}
        if row.project:
            changes["project_id"] = projects[row.project]
        for change, named, known in (
            ("pixels_ids", row.pixels, pixels),
            ("email_reports", row.handlers, handlers),
        ):
            if missing := missing_names(named.names, known):
                said = ", ".join(" ".join(name[:2]) for name in missing)
                problem = _l("This is no longer available: %(said)s.", said=said)
                raise Invalid(FieldError(problem, "not_found", change))
            if named.names:
                changes[change] = named_ids(named.names, known)
        found.append(changes)
    return found


def projects_of(access: Access, rows: Sequence[ParsedRow]) -> dict[str, int]:
    """The ids of the owner's projects that rows name, after missing ones were created."""
    colors = {row.project: row.project_color for row in rows if row.project}
    if not colors:
        return {}
    colors |= {row.project: row.project_color for row in rows if row.project_color}
    mine = select(Project.name, Project.id).where(Project.workspace_id == access.workspace_id)
    found = dict(db.session.execute(mine.order_by(Project.id.desc())).all())
    for name in sorted(colors.keys() - found.keys()):
        color = {"color": colors[name]} if colors[name] else {}
        project = Project(**access.row_columns, name=name, **color)
        db.session.add(project)
        db.session.flush()
        found[name] = project.id
    return found
