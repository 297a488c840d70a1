"""`worker`: starts the worker process on its own."""

from __future__ import annotations

import gc
import os
import signal
from typing import TYPE_CHECKING, Any

import click
from flask import current_app
from flask.cli import with_appcontext
from sqlalchemy import Engine, Pool, event
from sqlalchemy.orm import Mapper, Session

from app.cli.failures import Command
from app.core.counters import counters
from app.core.logging import log_uncaught
from app.core.scheduling import WORKER_MS, give_way, set_slice
from app.core.tracing import tracing
from app.operations.database import migrate_first
from app.operations.processes import LAST, end_process, leave_with_parent

if TYPE_CHECKING:
    from app.jobs.worker import Worker

# when SQLAlchemy has done, or is about to do, a part of what a statement takes
STATEMENTS: dict[Any, tuple[str, ...]] = {
    Pool: ("checkout", "checkin"),
    Engine: (
        "begin",
        "before_execute",
        "before_cursor_execute",
        "after_cursor_execute",
        "after_execute",
        "commit",
        "rollback",
    ),
    Session: ("do_orm_execute", "after_begin", "before_flush", "after_flush"),
    Mapper: ("load", "before_insert", "before_update"),
}
NICE = 10  # visitors come first: on a busy core the worker gets a tenth of it


@click.command("worker", cls=Command)
@click.option("--parent", type=int, hidden=True, help="The process whose end ends this one.")
@with_appcontext
def worker(parent: int | None) -> None:
    """Run a worker: it ingests clicks, sends notifications and runs jobs. (`serve` starts one.)"""
    if parent is None:
        work_alone()
    else:
        work_under(parent)


def work_alone() -> None:
    made = make_worker()
    migrate_first()
    made.end_at(signal.SIGTERM, signal.SIGINT)
    run(made)


def work_under(parent: int) -> None:
    """Works until `serve`, whose process id this is, ends it or is gone."""
    made = make_worker()
    made.end_at(LAST)
    made.ignore(signal.SIGTERM, signal.SIGINT)
    leave_with_parent(parent, LAST)
    os.nice(NICE)
    run(made)


def make_worker() -> Worker:
    return load_worker()(current_app.config["WAYPOST"])


def load_worker() -> type[Worker]:
    from app.jobs.worker import Worker  # heavy, and no other command needs it

    return Worker


def run(made: Worker) -> None:
    spare_collections()
    let_redirects_pass()
    log_uncaught()
    counters.open(made.data_dir, "worker")
    tracing.start("worker")
    made.run()
    tracing.stop()
    end_process()


def let_redirects_pass() -> None:
    """Has every thread of the worker give way at each statement, as it does in long loops.

    A low priority alone gives redirects more of the core, not sooner.
    """
    set_slice(WORKER_MS)
    for target, moments in STATEMENTS.items():
        for moment in moments:
            event.listen(target, moment, lambda *_: give_way())


def spare_collections() -> None:
    """Has the garbage collector run less often.

    Visits are tuples by the hundred thousand, and none of them is ever a cycle. To scan them, and the program
    itself, took a tenth of the time that each visit takes.
    """
    gc.set_threshold(50_000, 20, 50)
    gc.collect()
    gc.freeze()
