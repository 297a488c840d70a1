"""Checks disk space, the port and the processes of an instance."""

from __future__ import annotations

import os
from collections.abc import Iterator

from app.core.config import Settings
from app.core.file_locks import is_held
from app.core.running_address import LOCK
from app.jobs.maintenance import heartbeat_age
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
