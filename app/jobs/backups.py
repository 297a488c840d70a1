"""Scheduled backups and their rehearsals, each in a process of its own that stands behind everything else."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator

from sqlalchemy.orm import Session

from app.core.config import Settings
from app.core.folders import PROGRAM, ROOT
from app.jobs.backup_records import BACKUP, REHEARSAL, note_failure, read_state, tell_if_overdue
from app.jobs.schedule import Scheduled

RETRY_SECONDS = 3600.0
OVERDUE_CRON = "27 * * * *"


class BackupFailed(Exception):
    """The process of a backup or of a rehearsal has failed. It has said why."""


def scheduled_backups(settings: Settings) -> Iterator[Scheduled]:
    """The jobs of an instance whose settings name a place for backups.

    One machine of several does each, for the jobs are of the database. Only machines that have BACKUP_TO take
    part.
    """
    if settings.backup_to is None:
        return
    if settings.backup_at:
        yield Scheduled("backups", settings.backup_at, make_backup, retry_seconds=RETRY_SECONDS)
        yield Scheduled("overdue backups", OVERDUE_CRON, tell_if_overdue)
    if settings.backup_verify_at:
        yield Scheduled("rehearsals", settings.backup_verify_at, rehearse, retry_seconds=RETRY_SECONDS)


def make_backup(session: Session, settings: Settings) -> None:
    run_process(session, settings, BACKUP)


def rehearse(session: Session, settings: Settings) -> None:
    """Rehearses the latest backup, once the schedule has made one. A first one that fails is told anyway."""
    state = read_state(session, BACKUP)
    is_one_there = state is not None and state.succeeded is not None
    session.rollback()  # nothing is held open while the process runs
    if is_one_there or not settings.backup_at:
        run_process(session, settings, REHEARSAL, "--verify", "latest")


def run_process(session: Session, settings: Settings, kind: str, *options: str) -> None:
    """Runs `waypost backup`, which stores what came of it. Raises BackupFailed.

    The process ends with this one. One that was killed could not store why, so that is done here.
    """
    idle = ["ionice", "-c", "3"] if shutil.which("ionice") else []
    command = [*idle, *PROGRAM, "backup", *options, "--parent", str(os.getpid())]
    done = subprocess.run(command, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, check=False)
    if done.returncode < 0 and -done.returncode != signal.SIGTERM:  # by that one all of Waypost is ended
        note_failure(session, settings, kind, f"Its process was ended by the signal {-done.returncode}.")
    if done.returncode:
        raise BackupFailed(f"the process of the {kind} ended ({done.returncode})")
