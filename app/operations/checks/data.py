"""Are the databases, the journal and what belongs to them whole, and do they fit together?"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from sqlalchemy import func, select, text
from sqlalchemy.exc import DBAPIError

from app.cli import database
from app.cli.checks.finding import Finding, ok, plural, problem, warning
from app.clicks import backfill
from app.clicks.lag import journal_state
from app.clicks.models import Loss
from app.clicks.positions import positions_in
from app.config import Settings
from app.database import clicks_path
from app.extensions import db
from app.jobs.tending import LARGE_WAL, wal_bytes
from app.journal.reading import read
from app.journal.segments import directory_of, listed
from app.links.models import Link

RESTORE = "Stop it, and restore a backup; keep what is here for a look at it."
LATE_SECONDS = 60
SHOWN = 5


def instance_check(settings: Settings) -> Iterator[Finding]:
    """Whether there is one, so that nothing else need say that there is none."""
    if not database.is_there():
        yield problem(
            f"There is no database in {settings.data_dir}.", "Start Waypost, or restore a backup there."
        )
        return
    if not settings.is_sqlite:  # of a damaged file the next check says more
        db.session.execute(text("SELECT 1"))
    yield ok("There is a database.")


def database_check(settings: Settings) -> Iterator[Finding]:
    if not settings.is_sqlite:
        version = db.session.scalar(text("SHOW server_version"))
        yield ok(f"PostgreSQL {version} answers.")
        return
    for schema in ("main", "clicks"):
        found = faults(f"PRAGMA {schema}.integrity_check({SHOWN})")
        if found == ["ok"]:
            yield ok(f"{schema}.db is whole.")
        else:
            yield problem(f"{schema}.db is damaged: {'; '.join(found)}", RESTORE)
            return
    if orphans := faults("PRAGMA main.foreign_key_check"):
        tables = ", ".join(sorted(set(orphans)))
        yield problem(f"{plural(len(orphans), 'row')} of {tables} name what is not there.", RESTORE)


def faults(question: str) -> list[str]:
    """What SQLite says, the first column of it; of damage that it stumbles over, that."""
    try:
        return [str(row[0]) for row in db.session.execute(text(question))]
    except DBAPIError as error:
        return [str(error.orig)]


def migrations_check(_settings: Settings) -> Iterator[Finding]:
    if database.is_current():  # raises ClickException where a newer one has been here
        yield ok("Migrations are at their end.")
    else:
        yield problem("The database is older than this program.", "flask --app wsgi db upgrade")


def log_check(settings: Settings) -> Iterator[Finding]:
    """SQLite's write-ahead logs, which the worker brings into the files."""
    if not settings.is_sqlite:
        return
    beside = Path(f"{clicks_path(settings)}-wal")
    found = {"main.db": wal_bytes(db.engine), "clicks.db": beside.stat().st_size if beside.exists() else 0}
    for name, size in found.items():
        if size > 2 * LARGE_WAL:
            yield warning(
                f"{size >> 20:,} MiB of {name} wait in its log.",
                "Is the worker running? A program that reads the file for long holds it up, too.",
            )
    if max(found.values()) <= 2 * LARGE_WAL:
        yield ok(f"{sum(found.values()) / 1e6:,.1f} MB wait in the databases' logs.")


def journal_check(settings: Settings) -> Iterator[Finding]:
    directory = directory_of(settings.data_dir)
    for name in listed(directory):
        read(directory, name, 0, 1)  # raises OSError where it can't be read
    state = journal_state(directory, positions_in(db.session()), time.time())
    if state.waits_for:
        yield problem(f"Visits wait in the journal: {state.waits_for}", "Put that right: none is lost.")
    elif state.counters.seconds > LATE_SECONDS:
        yield warning(
            f"A visit has waited for {state.counters.seconds:,.0f} s.",
            "The worker takes it in: start Waypost.",
        )
    else:
        yield ok(f"The journal can be read; {state.rows.waiting_bytes / 1e6:,.1f} MB of it wait.")
    if state.unknown:
        yield warning(
            f"{plural(len(state.unknown), 'segment')} of the journal are of a newer version.",
            "They are kept until that version runs again.",
        )
    if state.dropped:
        yield warning(
            f"{plural(state.dropped, 'visit')} could not be written down, ever.",
            f"There was no room. Having seen it, remove {directory / 'dropped'}.",
        )
    if damaged := db.session.scalar(select(func.sum(Loss.lines))) or 0:
        yield warning(
            f"{plural(int(damaged), 'line')} of the journal were damaged.",
            "They were left out: look after the disk.",
        )


MISMATCH = text("""
    SELECT count(*) FROM clicks.counter c LEFT JOIN (
        SELECT link_id, sum(pageviews) AS visits FROM clicks.link_quarter WHERE NOT is_bot GROUP BY link_id
    ) q ON q.link_id = c.link_id
    WHERE coalesce(q.visits, 0) < c.clicks
    AND NOT EXISTS (SELECT 1 FROM clicks.position WHERE counters_offset > rows_offset)
""")
SUMS = text("""
    SELECT (SELECT coalesce(sum(pageviews), 0) FROM clicks.link_quarter),
           (SELECT coalesce(sum(pageviews), 0) FROM clicks.owner_quarter),
           (SELECT coalesce(sum(visits), 0) FROM clicks.owner_day),
           (SELECT count(*) FROM clicks.click)
""")


def counts_check(_settings: Settings) -> Iterator[Finding]:
    """What links are said to have, what statistics add up to, and the single visits: each in one statement,
    for visits come in meanwhile."""
    done, end = backfill.state(db.session())
    if done < end:
        yield ok(f"{plural(end - done, 'visit')} from before an update are still to be added up.")
        return
    different = int(db.session.scalar(MISMATCH) or 0)
    of_links, of_owners, of_days, rows = map(int, db.session.execute(SUMS).one())
    advice = "Statistics say less than was counted. Say so to the makers, with this line."
    if different:
        yield problem(f"{plural(different, 'link')} have more clicks than statistics know.", advice)
    if of_links != of_owners or of_days != rows:
        yield problem(
            f"Sums differ: {of_links:,} by link, {of_owners:,} by owner; {of_days:,} by day, {rows:,} rows.",
            advice,
        )
    if not different and of_links == of_owners and of_days == rows:
        yield ok(f"Clicks and statistics agree: {plural(of_links, 'visit')}, bots too.")


def pictures_check(settings: Settings) -> Iterator[Finding]:
    named = {
        name
        for row in db.session.execute(select(Link.cloaking_favicon, Link.cloaking_opengraph))
        for name in row
        if name
    }
    missing = sorted(name for name in named if not (settings.data_dir / "uploads" / name).exists())
    if missing:
        yield warning(
            f"{plural(len(missing), 'picture')} of links are not there ({', '.join(missing[:SHOWN])}).",
            "Their links go on without; bring the files back from a backup.",
        )
    else:
        yield ok(f"All pictures are there: {len(named):,}.")
