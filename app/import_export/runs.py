"""Runs of imports: which one a process continues, and for how long.

A process may die from what it reads. Each one is counted before it begins, and each step resets the count. An
import has failed when three processes in a row die without a step.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import func, or_, select, update

from app.core.clock import now
from app.core.config import Settings
from app.core.database import AnySession, begin_write, reread
from app.core.errors import Invalid
from app.core.extensions import db
from app.core.machine import machine_id
from app.i18n.messages import lazy_gettext as _l
from app.import_export import shared_files
from app.import_export.archive_reader import open_archive
from app.import_export.files import archive_of, is_held, lock_table, path_of
from app.import_export.importer import AFTER, GONE, LEASE, RunningImport
from app.import_export.models import LinkImport
from app.import_export.services import fail
from app.import_export.sniff import UnreadableTable, open_table

MAX_TRIES = 3
DIED = _l(
    "Waypost failed three times to read on in this file. Remove the next rows from it, or save it anew."
)
FIRST = dt.datetime.min.replace(tzinfo=dt.UTC)  # for owners without a turn so far, who come first


class PendingImport(NamedTuple):
    """An unfinished import. `tries`: processes that were started for it since it last made a step."""

    id: int
    user_id: int
    tries: int


def unfinished_imports(session: AnySession, data_dir: Path) -> list[PendingImport]:
    """Unfinished imports without a process, in the order in which to continue them.

    Owners take turns: the one whose imports were continued longest ago comes first, oldest import first.
    """
    last = select(LinkImport.user_id, func.max(LinkImport.last_datetime)).group_by(LinkImport.user_id)
    turns = dict(session.execute(last).all())
    found = [one for one, has_process in unfinished(session, data_dir) if not has_process]
    return sorted(found, key=lambda one: (turns.get(one.user_id) or FIRST, one.id))


def unfinished(session: AnySession, data_dir: Path) -> list[tuple[PendingImport, bool]]:
    """Unfinished imports that no other machine runs, each with whether a process of this one does."""
    wanted = select(LinkImport.id, LinkImport.user_id, LinkImport.tries, LinkImport.file)
    here = LinkImport.who.is_(None) | (LinkImport.who == machine_id(data_dir))
    is_free = or_(here, LinkImport.lease.is_(None), LinkImport.lease <= now())
    rows = session.execute(wanted.where(LinkImport.state.in_(AFTER), is_free)).all()
    return [(PendingImport(*row[:3]), is_held(data_dir, row.file)) for row in rows]


def run(import_id: int, settings: Settings, is_over: Callable[[], bool] = lambda: False) -> None:
    """Continue an import to its end, unless another process runs it.

    `is_over`: called after each step; true leaves the rest to the next process.
    """
    job = db.session.get(LinkImport, import_id)
    if job is None or job.state not in AFTER:
        return
    with lock_table(settings.data_dir, job.file) as is_ours:
        if is_ours and begin_try(job, settings):
            go_on(job, settings, is_over)


def begin_try(job: LinkImport, settings: Settings) -> bool:
    """Count this process, because it may die. False: another machine runs the import, or too many processes
    have died, and it has failed."""
    begin_write(db.session)
    reread(db.session, job)
    if is_held_elsewhere(job, settings):
        db.session.rollback()
        return False
    hold(job, settings)
    if job.state in AFTER and job.tries >= MAX_TRIES:
        fail(job, DIED, settings)
    job.tries, job.last_datetime = job.tries + 1, now()
    db.session.commit()
    return job.state in AFTER


def is_held_elsewhere(job: LinkImport, settings: Settings) -> bool:
    is_leased = job.lease is not None and job.lease > now()
    return is_leased and job.who not in {None, machine_id(settings.data_dir)}


def hold(job: LinkImport, settings: Settings) -> None:
    """Keep other machines away from an import, until its lease ends. The caller commits."""
    job.who, job.lease = machine_id(settings.data_dir), now() + LEASE


def release(job: LinkImport, settings: Settings) -> None:
    """Let other machines continue what this one leaves."""
    begin_write(db.session)
    mine = LinkImport.id == job.id, LinkImport.who == machine_id(settings.data_dir)
    db.session.execute(update(LinkImport).where(*mine).values(lease=None))
    db.session.commit()


def begin(job: LinkImport, settings: Settings) -> RunningImport | None:
    """Open the table of an import. Where it can't be read, the import fails, and the result is None."""
    try:
        path = path_of(settings.data_dir, job.file)
        for each in (path, archive_of(path)):
            shared_files.fetch(db.session, each)
        return RunningImport(job, settings, open_table(path), open_archive(path))
    except Invalid as error:
        said = error.errors[0].title
    except UnreadableTable as error:
        said = error.args[0]
    except (FileNotFoundError, ValueError):
        said = _l("The file is not there any more.")
    begin_write(db.session)
    fail(job, said, settings)
    db.session.commit()
    return None


def go_on(job: LinkImport, settings: Settings, is_over: Callable[[], bool] = lambda: False) -> None:
    """Run an import to its end. The caller has locked the table: two processes would keep colliding."""
    taking = begin(job, settings)
    try:
        if taking is not None:
            taking.prepare()
        while taking is not None and taking.step() and not is_over():
            pass
        release(job, settings)
    except GONE:
        db.session.rollback()
    finally:
        if taking is not None and taking.archive is not None:
            taking.archive.close()


def must_share(import_id: int, settings: Settings, slots: int) -> bool:
    """Whether this import should give way: all slots are taken, and an owner without a process waits for one.

    Imports from which processes have died do not count, nor do more imports of an owner who has a process.
    While fewer than `slots` processes run, a waiting import gets one anyway.
    """
    found = unfinished(db.session, settings.data_dir)
    db.session.rollback()
    running = [one.user_id for one, has_process in found if has_process or one.id == import_id]
    served = set(running)
    return len(running) >= slots and any(one.user_id not in served and not one.tries for one, _ in found)
