"""Scheduled backups and their rehearsals, and the records of them: the last good one, and the last failure.

Each runs in a process of its own that stands behind everything else. Where nothing else says that backups
have stopped, nobody looks until one is needed. So a failure is mailed to all admins, at once and then once a
day until it goes well again, and so is a backup that is overdue.
"""

# see docs/decisions/2026-11-25-scheduled-backups.md
from __future__ import annotations

import datetime as dt
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator

from croniter import croniter
from sqlalchemy import BigInteger, String, inspect, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from app.accounts.models import User
from app.core.clock import format_utc, now
from app.core.config import Settings
from app.core.database import AnySession, UtcDateTime, begin_write
from app.core.extensions import db
from app.core.folders import PROGRAM, ROOT
from app.i18n.languages import in_language
from app.i18n.messages import gettext as _
from app.i18n.messages import gettext_noop as _noop
from app.jobs.schedule import Scheduled
from app.notifications import system_email
from app.notifications.site import site_of

BACKUP, REHEARSAL = "backup", "rehearsal"
ABOUT = "backups"  # of the mails
TELL_AGAIN = dt.timedelta(days=1)
MAIL_GOOD_FOR = dt.timedelta(days=1)
GRACE = dt.timedelta(hours=6)  # a large backup takes its time, and a failed one is tried again
MAX_REASON = 500

TITLES = {BACKUP: _noop("The backup failed"), REHEARSAL: _noop("The rehearsal of a backup failed")}


class BackupState(db.Model):  # type: ignore[name-defined]  # which mypy can't see
    """The state of one kind of run. `since`: when it was first set up, so that a new one is not overdue.

    `succeeded`, `name`, `size`, `seconds`: of the last good run. `failed`, `reason`: of the last run, where
    it failed. `told`: when the admins were mailed about that last.
    """

    kind: Mapped[str] = mapped_column(String(16), primary_key=True)
    since: Mapped[dt.datetime] = mapped_column(UtcDateTime, default=now)
    succeeded: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    name: Mapped[str] = mapped_column(String(1024), default="")
    size: Mapped[int] = mapped_column(BigInteger, default=0)
    seconds: Mapped[int] = mapped_column(default=0)
    failed: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)
    reason: Mapped[str] = mapped_column(String(MAX_REASON), default="")
    told: Mapped[dt.datetime | None] = mapped_column(UtcDateTime)


def read_state(session: AnySession, kind: str) -> BackupState | None:
    return session.get(BackupState, kind)


def note_success(session: AnySession, kind: str, *, name: str, size: int, seconds: float) -> None:
    """Stores a good run, and commits."""

    def change(state: BackupState) -> None:
        state.succeeded, state.name, state.size, state.seconds = now(), name[:1024], size, round(seconds)
        state.failed, state.reason, state.told = None, "", None

    change_state(session, kind, change)


def note_failure(session: AnySession, settings: Settings, kind: str, reason: str) -> None:
    """Stores a failed run with a mail to each admin where none was sent within a day, and commits."""

    def change(state: BackupState) -> None:
        state.failed, state.reason = now(), reason[:MAX_REASON]
        tell_admins(session, settings, state, TITLES[kind], reason)

    change_state(session, kind, change)


def tell_if_overdue(session: AnySession, settings: Settings) -> None:
    """Mails the admins where no good backup was made for too long, whatever kept it from being made."""

    def change(state: BackupState) -> None:
        if is_overdue(state, settings.backup_at):
            tell_admins(session, settings, state, _noop("There was no backup for too long"), state.reason)

    change_state(session, BACKUP, change)


def is_overdue(state: BackupState, cron: str) -> bool:
    """Whether the last good run is older than the last time at which one was due, GRACE ago."""
    if not cron:
        return False  # something else calls the command, by times that are not known here
    due: dt.datetime = croniter(cron, now() - GRACE).get_prev(dt.datetime)
    return max(state.since, state.succeeded or state.since) < due


def change_state(session: AnySession, kind: str, change: Callable[[BackupState], None]) -> None:
    begin_write(session)
    if not inspect(session.connection()).has_table(BackupState.__tablename__):
        session.rollback()  # a backup of older tables, before an update: there is no place for it yet
        return
    state = session.get(BackupState, kind, with_for_update=True)
    if state is None:
        state = BackupState(kind=kind, since=now(), name="", size=0, seconds=0, reason="")
        session.add(state)
    change(state)
    session.commit()


def tell_admins(session: AnySession, settings: Settings, state: BackupState, title: str, reason: str) -> None:
    """Writes a mail to each admin, at most one a day. Without a mail server there is none."""
    if not settings.smtp_url or (state.told is not None and state.told > now() - TELL_AGAIN):
        return
    system_email.withdraw(session, ABOUT)
    for user in session.scalars(select(User).where(*IS_ADMIN)):
        with in_language(user.language):
            content = system_email.Content(
                title=_(title),
                text=" ".join(describe_state(state, reason)),
                url=f"{site_of(settings).owners}/dashboard/instance/",
                button=_("See the instance"),
                note="admin",
                language=user.language,
            )
        system_email.enqueue(session, user.id, ABOUT, user.email, content, now() + MAIL_GOOD_FOR)
    state.told = now()


IS_ADMIN = (User.is_admin, User.disabled_datetime.is_(None), User.deleted_datetime.is_(None))


def describe_state(state: BackupState, reason: str) -> list[str]:
    """What the mail says. The reason is in English, as the command words it."""
    said = [_("The reason: %(reason)s", reason=reason)] if reason else []
    if state.succeeded is None:
        said.append(_("There is no good one yet."))
    else:
        said.append(_("The last good one was made at %(time)s UTC.", time=format_utc(state.succeeded)))
    return [*said, _("It is tried again. On the server, “./waypost doctor” checks what it needs.")]


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
