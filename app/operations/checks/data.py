"""Checks that databases, journal and uploads are whole and consistent with each other, and what an upgrade of
the tables would do.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from alembic.script import Script
from sqlalchemy import func, select, text

from app.analytics.lag import journal_state, limited_lag
from app.analytics.models import Loss
from app.analytics.offsets import positions_in
from app.core.config import PREFIX, Settings
from app.core.database import clicks_path, takes_no_writes
from app.core.database_damage import is_damage_noted
from app.core.extensions import db
from app.core.read_only import address_of
from app.core.stored_files import StoredFile
from app.jobs.maintenance import LARGE_WAL, wal_bytes
from app.journal.reader import read
from app.journal.segments import list_segments, path_of
from app.links import uploads
from app.links.models import Link
from app.operations import database
from app.operations.backups.before_upgrade import UpgradePlan, list_backups, make_plan
from app.operations.backups.stores import DIRECTORY
from app.operations.checks.finding import Finding, ok, plural, problem, warning
from app.operations.revisions import known_revisions

RESTORE = (
    "Stop Waypost and restore a backup: ./waypost restore --force PATH. The damaged files are moved aside,"
    " and stay for inspection."
)
TRIGRAMS = (
    "CREATE EXTENSION IF NOT EXISTS pg_trgm;"
    " CREATE INDEX ix_link_search ON link USING gin (search_text gin_trgm_ops, search_notes gin_trgm_ops);"
)
LATE_SECONDS = 60
SHOWN = 5


def instance_check(settings: Settings) -> Iterator[Finding]:
    """Whether there is an instance, so that no other check has to report that there is none."""
    if missing := database.find_missing_file():
        yield problem(database.describe_missing(missing), database.advise_missing(missing))
        return
    if not database.is_there():
        yield problem(
            f"There is no database in {settings.data_dir}.", "Start Waypost, or restore a backup there."
        )
        return
    if not settings.is_sqlite:  # for a SQLite file the next check says more
        db.session.execute(text("SELECT 1"))
    yield ok("There is a database.")


def database_check(settings: Settings) -> Iterator[Finding]:
    if is_damage_noted(settings.data_dir):
        yield problem("In the last minutes a query met damage in the database.", RESTORE)
    if not settings.is_sqlite:
        version = db.session.scalar(text("SHOW server_version"))
        if takes_no_writes(db.session, ()):
            yield problem(
                f"PostgreSQL {version} answers, but takes no writes.", "Is it a standby, or read-only?"
            )
        else:
            yield ok(f"PostgreSQL {version} answers.")
        return
    for path in database.files():  # each alone: a connection to both fails where one of them is damaged
        yield from file_findings(path, settings.data_dir)


# a row that refers to two missing rows is one row
ORPHANS = """
    SELECT "table", count(*) FROM (SELECT DISTINCT "table", rowid FROM pragma_foreign_key_check)
    GROUP BY "table" ORDER BY "table"
"""


def look_into(path: Path, data_dir: Path) -> tuple[list[str], dict[str, int]]:
    """What is damaged in one of SQLite's files, and by table the rows that refer to missing ones."""
    try:
        with closing(sqlite3.connect(address_of(path, data_dir), uri=True)) as connection:
            faults = [str(row[0]) for row in connection.execute(f"PRAGMA integrity_check({SHOWN})")]
            if faults == ["ok"]:
                return [], dict(connection.execute(ORPHANS).fetchall())
    except sqlite3.Error as error:
        faults = [str(error)]
    return faults, {}


def file_findings(path: Path, data_dir: Path) -> Iterator[Finding]:
    """Whether one of SQLite's files is intact, and every row refers to rows that are there."""
    faults, orphans = look_into(path, data_dir)
    if faults:
        yield problem(f"{path.name} is damaged: {'; '.join(faults)}", RESTORE)
    elif orphans:
        said = f"{plural(sum(orphans.values()), 'row')} of {', '.join(orphans)}"
        yield problem(f"{said} in {path.name} refer to missing rows.", RESTORE)
    else:
        yield ok(f"{path.name} is intact.")


def migrations_check(settings: Settings) -> Iterator[Finding]:
    if not settings.is_sqlite and db.session.scalar(text("SELECT to_regclass('ix_link_search')")) is None:
        yield warning(
            "PostgreSQL has no index for searches, so each reads all links: pg_trgm could not be installed.",
            f"Run in the database, as a user that may: {TRIGRAMS}",
        )
    if database.is_current():  # raises ClickException where a newer version has migrated it
        yield ok("All migrations are applied.")
    else:
        yield problem("The database is older than this program.", "Start Waypost, or: ./waypost db upgrade")


def log_check(settings: Settings) -> Iterator[Finding]:
    """Checks SQLite's write-ahead logs, which the worker checkpoints into the files."""
    if not settings.is_sqlite:
        return
    beside = Path(f"{clicks_path(settings)}-wal")
    found = {"main.db": wal_bytes(db.engine), "clicks.db": beside.stat().st_size if beside.exists() else 0}
    for name, size in found.items():
        if size > 2 * LARGE_WAL:
            yield warning(
                f"{size >> 20:,} MiB of {name} wait in its write-ahead log.",
                "Is the worker running? A program that reads the file for a long time delays it, too.",
            )
    if max(found.values()) <= 2 * LARGE_WAL:
        yield ok(f"{sum(found.values()) / 1e6:,.1f} MB wait in the write-ahead logs.")


def journal_check(settings: Settings) -> Iterator[Finding]:
    directory = path_of(settings.data_dir)
    if not directory.exists():
        yield ok("There is no journal yet: no link was opened.")
        return
    for name in list_segments(directory):
        read(directory, name, 0, 1)  # raises OSError where it can't be read
    state = journal_state(directory, positions_in(db.session()), time.time())
    if state.waits_for:
        yield problem(f"Clicks wait in the journal: {state.waits_for}", "Fix that; no click is lost.")
    elif state.counters.seconds > LATE_SECONDS:
        yield warning(
            f"A click has waited for {state.counters.seconds:,.0f} s.",
            "The worker ingests it: start Waypost.",
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
            f"{plural(state.dropped, 'click')} could not be written, in total.",
            f"There was no space. To reset the count, remove {directory / 'dropped'}.",
        )
    if damaged := db.session.scalar(select(func.sum(Loss.lines))) or 0:
        yield warning(
            f"{plural(int(damaged), 'line')} of the journal were damaged, in total.",
            "They were skipped. Check the disk.",
        )


def limited_check(_settings: Settings) -> Iterator[Finding]:
    """Checks visits of limited links, which are not in the journal but in main.db until they are ingested."""
    lag = limited_lag(db.session(), time.time())
    if lag.seconds > LATE_SECONDS:
        yield warning(
            f"{plural(lag.waiting, 'click')} of limited links wait, one for {lag.seconds:,.0f} s.",
            "The worker ingests them: start Waypost.",
        )
    if lag.unknown:
        yield warning(
            f"{plural(lag.unknown, 'click')} of limited links are of a newer version.",
            "They are kept until that version runs again.",
        )
    if not lag.unknown and lag.seconds <= LATE_SECONDS:
        yield ok(f"{plural(lag.waiting, 'click')} of limited links wait.")


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


def counts_check(settings: Settings) -> Iterator[Finding]:
    """Compares the counters of links, the sums of the statistics and the single clicks.

    Each comparison is one statement, for visits come in meanwhile.
    """
    if settings.clickhouse_url:  # `clickhouse_check` compares these
        return
    different = int(db.session.scalar(MISMATCH) or 0)
    of_links, of_owners, of_days, rows = map(int, db.session.execute(SUMS).one())
    advice = "Statistics say less than was counted. Say so to the makers, with this line."
    if different:
        yield problem(f"{plural(different, 'link')} have more clicks than their statistics.", advice)
    if of_links != of_owners or of_days != rows:
        yield problem(
            f"Sums differ: {of_links:,} by link, {of_owners:,} by owner; {of_days:,} by day, {rows:,} rows.",
            advice,
        )
    if not different and of_links == of_owners and of_days == rows:
        yield ok(f"Clicks and statistics agree: {plural(of_links, 'click')}, including bots.")


def pictures_check(settings: Settings) -> Iterator[Finding]:
    named = {
        name
        for row in db.session.execute(select(Link.cloaking_favicon, Link.cloaking_opengraph))
        for name in row
        if name
    }
    if uploads.is_in_database():
        missing = sorted(named - stored_names())
    else:
        missing = sorted(name for name in named if not (settings.data_dir / uploads.FOLDER / name).exists())
    if missing:
        yield warning(
            f"{plural(len(missing), 'picture')} of links are missing ({', '.join(missing[:SHOWN])}).",
            "Their links work without them. Restore the files from a backup.",
        )
    else:
        yield ok(f"All pictures are there: {len(named):,}.")


def stored_names() -> frozenset[str]:
    """The names of the served pictures that the database holds."""
    paths = db.session.scalars(select(StoredFile.path).where(StoredFile.row_id.is_(None)))
    return frozenset(path.removeprefix(uploads.stored_path("")) for path in paths)


SHOWN_MIGRATIONS = 3


def upgrade_check(settings: Settings) -> Iterator[Finding]:
    """What the next start changes: migrations, the backup before them, room, and roughly how long."""
    if not database.heads() or database.heads() - known_revisions():
        return  # the next check says so
    if not (pending := database.pending_migrations()):
        yield ok(f"No upgrade is pending. {describe_kept(settings)}".strip())
        return
    plan = make_plan(settings, db.engine)
    yield ok(f"The next start applies {plural(len(pending), 'migration')} ({describe_all(pending)}).")
    yield backup_finding(plan, settings)
    for need in plan.needs:
        said = (
            f"It needs up to {need.size >> 20:,} MiB in {need.folder} for a while;"
            f" {need.free >> 20:,} MiB are free."
        )
        yield ok(said) if need.free >= need.size else problem(said, "Make room: the start would refuse.")


def describe_all(migrations: list[Script]) -> str:
    shown = "; ".join(each.doc.strip().rstrip(".") for each in migrations[-SHOWN_MIGRATIONS:])
    return (
        f"{shown}, and {len(migrations) - SHOWN_MIGRATIONS} before them"
        if len(migrations) > SHOWN_MIGRATIONS
        else shown
    )


def backup_finding(plan: UpgradePlan, settings: Settings) -> Finding:
    if plan.is_chosen:
        return warning(f"No backup is made before it: {plan.no_backup}", "Make one: ./waypost backup")
    if plan.no_backup:
        return warning(
            f"No backup is made before it: {plan.no_backup}",
            "Install PostgreSQL's client programs, or save the database in another way before the upgrade.",
        )
    return ok(
        f"Before it, a backup of at most {plan.backup_size / 1e6:,.1f} MB is made in"
        f" {settings.data_dir / DIRECTORY}; the last {settings.upgrade_backups} are kept"
        f" ({PREFIX}UPGRADE_BACKUPS)."
    )


def describe_kept(settings: Settings) -> str:
    kept = list_backups(settings.data_dir / DIRECTORY)
    size = sum(path.stat().st_size for path in kept) / 1e6
    return f"{plural(len(kept), 'backup')} from before upgrades: {size:,.1f} MB." if kept else ""
