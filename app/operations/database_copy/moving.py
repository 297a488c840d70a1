"""Moves a running instance's database: copies it while the service runs, then stops changes and compares.

Redirects go on all the time, and visits stay in the journal. Changes are refused from the moment the bulk is
copied, and stay refused once the copy is complete, or they would be missing in it. They are taken again after
an error, and after `flask db copy --cancel`.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import click
from sqlalchemy.exc import OperationalError

from app.core import write_stop
from app.core.config import Settings
from app.core.config_sources import masked
from app.core.file_locks import lock_file
from app.core.write_stop import CopyState, Phase
from app.jobs.maintenance import WORKER_LOCK
from app.operations.database_copy.copier import CopyProblem, DatabaseCopy, Differs, TableReport
from app.operations.database_copy.progress import CopyProgress
from app.operations.database_copy.store import CopyStore, RowsRefused
from app.operations.database_copy.targets import open_source, open_target, prepare_target

log = logging.getLogger(__name__)

WORKER_SECONDS = 60  # for the worker to finish what is under way


class MoveReport(NamedTuple):
    """What a complete copy has copied, and for how long changes were refused meanwhile."""

    tables: list[TableReport]
    seconds: float
    copied_again: int
    replaced: list[CopyProblem]


class Unstorable(Exception):
    """Rows can't be copied as they are."""

    def __init__(self, problems: list[CopyProblem]) -> None:
        super().__init__(f"{len(problems)} rows can't be copied")
        self.problems = problems


def move(
    settings: Settings,
    address: str,
    *,
    replaces: bool,
    note: Callable[[str, int], None],
    announce: Callable[[float], None],
) -> MoveReport | None:
    """Copies everything; None where that was complete before. `announce` is told for how many seconds changes
    will be refused, roughly."""
    state = write_stop.read_state(settings)
    source, target = open_source(settings), open_target(address)
    try:
        if is_complete(state, address):
            clean_up(source, target)
            return None
        progress = prepare_target(source, target, address, settings)
        if state is None:
            write_stop.write_state(settings, CopyState(Phase.COPYING, masked(address)))
        copy = DatabaseCopy(source, target, note, replaces=replaces)
        with undone_on_error(settings, source):
            source.prepare_source()
            copy.copy_all()
            if copy.problems:
                raise Unstorable(list(copy.problems.values()))
            announce(copy.estimate_seconds())
            tables, seconds = settle(settings, source, copy, address)
        clean_up(source, target, progress)
        return MoveReport(tables, seconds, copy.copied_again, list(copy.replaced.values()))
    finally:
        source.close()
        target.close()


def is_complete(state: CopyState | None, address: str) -> bool:
    return state is not None and state.phase is Phase.COMPLETE and state.target == masked(address)


def settle(
    settings: Settings, source: CopyStore, copy: DatabaseCopy, address: str
) -> tuple[list[TableReport], float]:
    """Refuses changes, copies what has changed, and compares all. Returns how long that took."""
    began = time.monotonic()
    write_stop.write_state(settings, CopyState(Phase.READ_ONLY, masked(address)))
    with worker_paused(settings.data_dir):
        source.refuse_changes()
        tables = copy.settle()
        if copy.problems:
            raise Unstorable(list(copy.problems.values()))
        write_stop.write_state(settings, CopyState(Phase.COMPLETE, masked(address)))
    return tables, time.monotonic() - began


def clean_up(source: CopyStore, target: CopyStore, progress: CopyProgress | None = None) -> None:
    """Removes what the copy has made for itself. Done again where it was killed before the end."""
    (progress or CopyProgress(target)).forget()
    target.drop_aids()
    try:
        source.drop_aids()
    except OperationalError as error:  # a reader is in the way; they do no harm in a database that is left
        log.warning("indexes of the copy stay in the old database: %s", str(error.orig).partition("\n")[0])


@contextmanager
def undone_on_error(settings: Settings, source: CopyStore) -> Iterator[None]:
    """Lets the instance take changes again where the copy does not come to its end. What was copied stays."""
    try:
        yield
    except BaseException:
        allow_changes(settings, source)
        raise


def allow_changes(settings: Settings, source: CopyStore) -> None:
    source.allow_changes()
    write_stop.remove_state(settings)


def cancel(settings: Settings) -> bool:
    """Lets the instance take changes again; returns whether they were refused, or a copy was begun."""
    state = write_stop.read_state(settings)
    source = open_source(settings)
    try:
        source.allow_changes()
        source.drop_aids()
    finally:
        source.close()
    if state is not None:
        write_stop.remove_state(settings)
    return state is not None


@contextmanager
def worker_paused(data_dir: Path) -> Iterator[None]:
    """Holds the worker's lock, which a worker leaves as soon as it has seen that changes are refused."""
    deadline = time.monotonic() + WORKER_SECONDS
    while True:
        with lock_file(data_dir / WORKER_LOCK) as is_ours:
            if is_ours:
                yield
                return
        if time.monotonic() > deadline:
            raise click.ClickException("The worker does not pause: is it of an older version?")
        time.sleep(0.02)


__all__ = ["Differs", "MoveReport", "RowsRefused", "Unstorable", "cancel", "move"]
