"""What becomes of rows that can be read: a link, nothing because it is there already, or a problem?"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from hashlib import blake2b
from typing import NamedTuple

from sqlalchemy import and_, insert, or_, select

from app.clock import now
from app.extensions import db
from app.links.aliases import key_of
from app.links.many import create_each
from app.links.models import Alias, LimitCounter, Link
from app.projects.models import Project
from app.transfer.models import ImportedRow
from app.transfer.rows import Wanted

TAKEN = "This short address is taken."
ELSEWHERE = "One of your links has this short address, and leads elsewhere."
TWICE = "A row before this one has the same short address."
Place = tuple[int, str]


class Outcome(NamedTuple):
    """`what`: `made`, `known` or `failed`, as the import counts them."""

    what: str
    problems: list[list[str]] = []  # noqa: RUF012  never changed


def place_of(wanted: Wanted) -> Place | None:
    """Where it wants to be; None for anywhere."""
    url = wanted.changes.get("url")
    return (wanted.changes.get("domain_id") or 0, key_of(url)) if url else None


def short(place: Place) -> int:
    """64 bits that stand for it: a large table has many."""
    return int.from_bytes(blake2b(f"{place[0]} {place[1]}".encode(), digest_size=8).digest())


def decided(
    user_id: int, wanted: Sequence[Wanted], before: Container[int] = (), places: set[int] | None = None
) -> list[Outcome]:
    """What would become of these rows, in their order, as things are. `before`: `short` of rows before them,
    `places` gets those of these rows."""
    digests = known_digests(user_id, [one.digest for one in wanted])
    holders = holders_of([place for one in wanted if (place := place_of(one))])
    places = set() if places is None else places
    found = []
    for one in wanted:
        place = place_of(one)
        if one.digest in digests:
            found.append(Outcome("known"))
        elif place and (short(place) in places or short(place) in before):
            found.append(Outcome("failed", [["url", TWICE]]))
        else:
            found.append(free_or_not(user_id, one, holders.get(place) if place else None))
            if place:
                places.add(short(place))
        digests.add(one.digest)
    return found


def free_or_not(user_id: int, one: Wanted, holder: Holder | None) -> Outcome:
    if holder is None or holder.is_free_for(user_id):
        return Outcome("made")
    if holder.user_id == user_id:
        is_same = holder.location_url == one.changes["location_url"]
        return Outcome("known") if is_same else Outcome("failed", [["url", ELSEWHERE]])
    return Outcome("failed", [["url", TAKEN]])


class Holder(NamedTuple):
    """Who has a short address: a link, or for a time the owner of one that is gone."""

    user_id: int
    location_url: str | None
    is_held: bool

    def is_free_for(self, user_id: int) -> bool:
        return self.location_url is None and (self.user_id == user_id or not self.is_held)


def holders_of(places: Sequence[Place]) -> dict[Place, Holder]:
    if not places:
        return {}
    by_domain: dict[int, list[str]] = {}
    for domain_id, key in places:
        by_domain.setdefault(domain_id, []).append(key)
    wanted = or_(*(and_(Alias.domain_id == id_, Alias.key.in_(keys)) for id_, keys in by_domain.items()))
    rows = select(Alias.domain_id, Alias.key, Alias.user_id, Alias.held_until, Link.location_url)
    moment = now()
    return {
        (row.domain_id, row.key): Holder(
            row.user_id, row.location_url, bool(row.held_until and row.held_until > moment)
        )
        for row in db.session.execute(rows.join(Link, Link.id == Alias.link_id, isouter=True).where(wanted))
    }


def known_digests(user_id: int, digests: Sequence[str]) -> set[str]:
    mine = select(ImportedRow.digest).where(ImportedRow.user_id == user_id, ImportedRow.digest.in_(digests))
    return set(db.session.scalars(mine))


def make(user_id: int, wanted: Sequence[Wanted]) -> list[Outcome]:
    """Make the links. Inside a write: what is decided here stands until the commit."""
    outcomes = decided(user_id, wanted)
    numbers = [number for number, outcome in enumerate(outcomes) if outcome.what == "made"]
    chosen = [wanted[number] for number in numbers]
    projects = projects_of(user_id, {one.project for one in chosen if one.project})
    links = create_each(user_id, [changes_of(one, projects) for one in chosen])
    rows = [(link, one) for link, one in zip(links, chosen, strict=True) if link is not None]
    remember(user_id, rows)
    for number, link in zip(numbers, links, strict=True):
        if link is None:  # somebody was quicker, on a database where others write at once
            outcomes[number] = Outcome("failed", [["url", TAKEN]])
    return outcomes


def changes_of(one: Wanted, projects: dict[str, int]) -> dict[str, object]:
    found = dict(one.changes)
    if one.project:
        found["project_id"] = projects[one.project]
    if one.datetime:
        found["datetime"] = one.datetime
    return found


def projects_of(user_id: int, names: Iterable[str]) -> dict[str, int]:
    """The owner's projects of these names; those that are not there are made."""
    mine = select(Project.name, Project.id).where(Project.user_id == user_id).order_by(Project.id.desc())
    found = dict(db.session.execute(mine).all())
    for name in sorted(set(names) - found.keys()):
        project = Project(user_id=user_id, name=name)
        db.session.add(project)
        db.session.flush()
        found[name] = project.id
    return found


def remember(user_id: int, made: Sequence[tuple[Link, Wanted]]) -> None:
    """What came with the rows beside the links: past counts, and which row it was."""
    connection = db.session.connection()
    rows = [{"link_id": link.id, "user_id": user_id, "digest": one.digest} for link, one in made]
    counts = [{"link_id": link.id, "clicks": one.clicks} for link, one in made if one.clicks]
    if rows:
        connection.execute(insert(ImportedRow.__table__), rows)
    if counts:
        connection.execute(insert(LimitCounter.__table__), counts)
