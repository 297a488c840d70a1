"""Check that says what an upgrade would do, before it does."""

from __future__ import annotations

from collections.abc import Iterator

from alembic.script import Script

from app.core.config import PREFIX, Settings
from app.core.extensions import db
from app.operations import database
from app.operations.backups.before_upgrade import UpgradePlan, list_backups, make_plan
from app.operations.backups.stores import DIRECTORY
from app.operations.checks.finding import Finding, ok, plural, problem, warning
from app.operations.revisions import known_revisions

SHOWN = 3


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
    shown = "; ".join(each.doc.strip().rstrip(".") for each in migrations[-SHOWN:])
    return f"{shown}, and {len(migrations) - SHOWN} before them" if len(migrations) > SHOWN else shown


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
