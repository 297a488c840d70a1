"""Scheduled backups: which jobs there are, and what comes of their processes."""

from __future__ import annotations

import signal
import sys
from dataclasses import replace

import pytest
from sqlalchemy.orm import Session

from app.core.config import Settings
from app.core.extensions import db
from app.jobs import backups
from app.jobs.backups import (
    BACKUP,
    BackupFailed,
    make_backup,
    note_success,
    read_state,
    scheduled_backups,
)
from app.jobs.definitions import TABLE, jobs_of

JOBS = {
    "no place": ({}, []),
    "a place": ({"backup_to": "/b"}, ["backups", "overdue backups", "rehearsals"]),
    "a timer of the operator's": ({"backup_to": "/b", "backup_at": ""}, ["rehearsals"]),
    "no rehearsals": ({"backup_to": "/b", "backup_verify_at": ""}, ["backups", "overdue backups"]),
}


@pytest.mark.parametrize(("changes", "expected"), JOBS.values(), ids=JOBS)
def test_the_settings_say_which_jobs_there_are(
    settings: Settings, changes: dict, expected: list[str]
) -> None:
    found = replace(settings, **changes)
    assert [job.name for job in scheduled_backups(found)] == expected
    assert [job.name for job in jobs_of(found)[len(TABLE) :]] == expected
    assert not any(job.is_of_machine for job in scheduled_backups(found)), "one machine of several does it"


def ends_by(monkeypatch: pytest.MonkeyPatch, code: str) -> None:
    program = (sys.executable, "-c", f"import os, sys; {code}")
    monkeypatch.setattr(backups, "PROGRAM", program)


ENDS = {
    "a failure that it has told of": ("sys.exit(1)", False),
    "a kill, of which it could not tell": (f"os.kill(os.getpid(), {signal.SIGKILL:d})", True),
    "the end of all of Waypost": (f"os.kill(os.getpid(), {signal.SIGTERM:d})", False),
}


@pytest.mark.parametrize(("code", "is_noted"), ENDS.values(), ids=ENDS)
def test_a_process_that_fails(session, settings: Settings, monkeypatch, code: str, is_noted: bool) -> None:
    ends_by(monkeypatch, code)
    with Session(db.engine) as own:
        with pytest.raises(BackupFailed):
            make_backup(own, settings)
        state = read_state(own, BACKUP)
        assert (state is not None) is is_noted
        assert state is None or state.reason == "Its process was ended by the signal 9."


def test_a_process_that_ends_well(session, settings: Settings, monkeypatch) -> None:
    ends_by(monkeypatch, "sys.exit(0)")
    with Session(db.engine) as own:
        make_backup(own, settings)


def note_a_backup(session: Session) -> None:
    note_success(session, BACKUP, name="waypost-20261125-031500.tar.gz", size=1, seconds=1)


def test_it_gets_its_arguments(session, settings: Settings, monkeypatch) -> None:
    ends_by(
        monkeypatch, "assert sys.argv[1:4] == ['backup', '--verify', 'latest'] and '--parent' in sys.argv"
    )
    with Session(db.engine) as own:
        note_a_backup(own)
        backups.rehearse(own, settings)


def test_there_is_no_rehearsal_before_the_first_backup(session, settings: Settings, monkeypatch) -> None:
    """A new instance is not told that it failed. Where a timer of the operator's makes them, nobody knows."""
    ends_by(monkeypatch, "sys.exit(1)")
    with Session(db.engine) as own:
        backups.rehearse(own, settings)
        with pytest.raises(BackupFailed):
            backups.rehearse(own, replace(settings, backup_at=""))
        note_a_backup(own)
        with pytest.raises(BackupFailed):
            backups.rehearse(own, settings)
