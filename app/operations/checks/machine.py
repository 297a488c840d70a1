"""Checks disk space, the port, the processes and the clock of an instance's machine.

The clock is checked as far as possible without asking an outside server. Nothing that is written here can
come from the future, and servers of the same instance should have the same time. A clock that is ahead, and
has always been, is not noticed: there is nothing to compare it to.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from sqlalchemy import select, text

from app.analytics.models import Click
from app.core.config import PREFIX, Settings
from app.core.extensions import db
from app.core.file_locks import is_held
from app.core.folders import PROGRAM_FILE, ROOT
from app.core.redis_client import ask_time, redis
from app.core.running_address import LOCK
from app.jobs.maintenance import heartbeat_age
from app.journal import segments
from app.operations.checks.finding import Finding, ok, problem, warning
from app.operations.listening import refusal_to_listen

FEW_BYTES, FEWER_BYTES = 1 << 30, 100 << 20
FEW_INODES = 1000
WORKER_SECONDS = 15


def room_check(settings: Settings) -> Iterator[Finding]:
    if not settings.data_dir.exists():
        return
    space = os.statvfs(settings.data_dir)
    free = space.f_bavail * space.f_frsize
    said, advice = f"{free / 1e9:,.1f} GB are free.", "Make room: with none, visits can't be counted."
    if space.f_files and space.f_favail < FEW_INODES:
        yield problem(f"Only {space.f_favail} more files can be created.", advice)
    if free < FEWER_BYTES:
        yield problem(said, advice)
    else:
        yield warning(said, advice) if free < FEW_BYTES else ok(said)


def processes_check(settings: Settings) -> Iterator[Finding]:
    """Whether the instance runs, and its worker too."""
    is_serving = is_held(settings.data_dir / LOCK, shared=True)
    if not is_serving:
        refusal = refusal_to_listen(settings.host, settings.port)
        if refusal is None:
            yield ok(f"Not running; {settings.local_url} is free.")
        else:
            yield warning(f"Not running, and {refusal.reason}.", refusal.advice)
        return
    age = heartbeat_age(settings.data_dir)
    if age is None or age > WORKER_SECONDS:
        yield problem(
            f"It runs, but the worker has not been heard of{'' if age is None else f' for {age:,.0f} s'}.",
            "See the log. Clicks wait in the journal meanwhile, and none is lost.",
        )
    else:
        yield ok("It runs, and so does the worker.")


AHEAD_SECONDS = 60
NANOSECONDS = 1_000_000_000
CLOCK_ADVICE = "The clock is behind: see that it is set by NTP. Until then visits have a wrong time."


def clock_check(settings: Settings) -> Iterator[Finding]:
    """Compares the clock with the times of files."""
    found = list(describe_future({"Files": newest_file(settings), "Visits": newest_segment(settings)}))
    yield from found
    if (newest := newest_program_file()) > time.time() + AHEAD_SECONDS:
        yield problem(
            f"Waypost's own files are of {describe_seconds(newest - time.time())} from now.", CLOCK_ADVICE
        )
    elif not found:
        yield ok(f"The clock says {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime())} UTC.")


def times_check(settings: Settings) -> Iterator[Finding]:
    """Compares the clock with the newest click and with the clock of the database's server."""
    newest = db.session.scalar(select(Click.time_ms).order_by(Click.id.desc()).limit(1))
    yield from describe_future({"Clicks": (newest or 0) / 1000})
    if not settings.is_sqlite:
        there = float(db.session.scalar(text("SELECT extract(epoch FROM clock_timestamp())")) or 0)
        yield from compare_clock("The database server", there)


def redis_check(settings: Settings) -> Iterator[Finding]:
    """Whether Redis answers, where it is set, and has the same time."""
    if settings.redis_url is None:
        return
    try:
        there = ask_time(settings.redis_url)
    except redis.RedisError as error:
        yield problem(
            f"Redis does not answer ({str(error).splitlines()[0]}).",
            f"Is it running, and is {PREFIX}REDIS_URL right? Each machine counts rate limits alone.",
        )
    else:
        yield ok("Redis answers.")
        yield from compare_clock("Redis", there)


def describe_future(times: Mapping[str, float]) -> Iterator[Finding]:
    for what, newest in times.items():
        if newest > time.time() + AHEAD_SECONDS:
            yield problem(
                f"{what} were written {describe_seconds(newest - time.time())} from now.", CLOCK_ADVICE
            )


def compare_clock(who: str, there: float) -> Iterator[Finding]:
    difference = there - time.time()
    if abs(difference) > AHEAD_SECONDS:
        side = "ahead of" if difference > 0 else "behind"
        yield problem(
            f"{who}'s clock is {describe_seconds(abs(difference))} {side} this machine's.",
            "One of the two is wrong: have both set by NTP.",
        )


def describe_seconds(seconds: float) -> str:
    return f"{seconds:,.0f} seconds"


def newest_segment(settings: Settings) -> float:
    """When the newest segment of the journal was begun, as its name says; 0 where there is none."""
    directory = segments.path_of(settings.data_dir)
    names = segments.list_segments(directory) if directory.is_dir() else []
    return max((int(name.partition("-")[0]) / NANOSECONDS for name in names), default=0.0)


def newest_file(settings: Settings) -> float:
    """When the newest of the instance's files was written; 0 where there is none."""
    return max((modified(path) for path in settings.data_dir.glob("*") if path.is_file()), default=0.0)


def newest_program_file() -> float:
    """When the newest file of the program was written: a clock that begins in 1970 is before that."""
    return max(modified(path) for path in [PROGRAM_FILE, *(ROOT / "app").glob("*.py")])


def modified(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # gone meanwhile
        return 0.0
