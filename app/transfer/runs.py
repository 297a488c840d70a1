"""Runs of imports: which one a process goes on with, and for how long.

A process may die of what it reads. Each one is counted before it begins, and each step sets the count back:
an import that three processes in a row die of without a step has failed.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import func, select

from app.clock import now
from app.config import Settings
from app.database import AnySession, begin_write, reread
from app.extensions import db
from app.transfer.files import held, is_held, path_of
from app.transfer.models import LinkImport
from app.transfer.services import fail
from app.transfer.tables import Unreadable, open_table
from app.transfer.taking import AFTER, GONE, Taking

MAX_TRIES = 3
DIED = "Waypost failed three times to read on in this file. Remove the next rows from it, or save it anew."
FIRST = dt.datetime.min.replace(tzinfo=dt.UTC)  # the turn of an owner who had none yet


class Waiting(NamedTuple):
    """An import that should be gone on with. `tries`: processes that died at it since it last moved."""

    id: int
    user_id: int
    tries: int


def waiting(session: AnySession, data_dir: Path) -> list[Waiting]:
    """Imports that some process should go on with, and none does. Owners take turns: whose imports were gone
    on with longest ago comes first; of one owner's, the oldest."""
    wanted = select(LinkImport.id, LinkImport.user_id, LinkImport.file, LinkImport.tries).where(
        LinkImport.state.in_(AFTER)
    )
    last = select(LinkImport.user_id, func.max(LinkImport.last_datetime)).group_by(LinkImport.user_id)
    turns = dict(session.execute(last).all())
    found = [
        Waiting(id_, user_id, tries)
        for id_, user_id, file, tries in session.execute(wanted)
        if not is_held(data_dir, file)
    ]
    return sorted(found, key=lambda one: (turns.get(one.user_id) or FIRST, one.id))


def run(import_id: int, settings: Settings, is_over: Callable[[], bool] = lambda: False) -> None:
    """Go on with an import to its end, unless another process does. Called again, it goes on there.

    `is_over`: asked after each step, whether to leave the rest to the next process.
    """
    job = db.session.get(LinkImport, import_id)
    if job is None or job.state not in AFTER:
        return
    with held(settings.data_dir, job.file) as is_ours:
        if is_ours and begin_try(job, settings):
            go_on(job, settings, is_over)


def begin_try(job: LinkImport, settings: Settings) -> bool:
    """Count this process, for it may die. False: too many have died, and the import has failed."""
    begin_write(db.session)
    reread(db.session, job)
    if job.state in AFTER and job.tries >= MAX_TRIES:
        fail(job, DIED, settings)
    job.tries, job.last_datetime = job.tries + 1, now()
    db.session.commit()
    return job.state in AFTER


def begin(job: LinkImport, settings: Settings) -> Taking | None:
    """Open the table of an import; None, and said in the import, where it can't be read."""
    try:
        return Taking(job, settings, open_table(path_of(settings.data_dir, job.file)))
    except (Unreadable, FileNotFoundError, ValueError) as error:
        said = str(error) if isinstance(error, Unreadable) else "The file is not there any more."
        begin_write(db.session)
        fail(job, said, settings)
        db.session.commit()
        return None


def go_on(job: LinkImport, settings: Settings, is_over: Callable[[], bool] = lambda: False) -> None:
    """To its end. Who calls this holds the table: two at once would overtake each other again and again."""
    taking = begin(job, settings)
    try:
        while taking is not None and taking.step() and not is_over():
            pass
    except GONE:
        db.session.rollback()


def must_share(import_id: int, settings: Settings) -> bool:
    """Whether another owner's import waits for a process, and is none that processes die of."""
    mine = select(LinkImport.user_id).where(LinkImport.id == import_id)
    user_id = db.session.scalar(mine)
    found = waiting(db.session, settings.data_dir)
    db.session.rollback()
    return any(one.user_id != user_id and not one.tries for one in found)
