"""Imports and archives where several machines, each with its own disk, share one PostgreSQL."""

from __future__ import annotations

import datetime as dt
import shutil
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from app.accounts.models import User
from app.core.clock import now
from app.core.config import Settings
from app.core.machine import machine_id
from app.import_export import archives, files, runs, services
from app.import_export.models import Archive, FilePart, LinkImport
from app.links.models import Link

pytestmark = pytest.mark.parametrize("database", ["postgresql"], indirect=True)
TABLE = "location_url\n" + "".join(f"https://example.com/{n}\n" for n in range(30))


@pytest.fixture
def other(settings: Settings, tmp_path: Path) -> Settings:
    """The settings of a second machine."""
    directory = tmp_path / "other"
    directory.mkdir()
    return replace(settings, data_dir=directory)


@pytest.fixture
def job(session: Session, settings: Settings, bring: Callable[..., LinkImport], alice: User) -> LinkImport:
    """An import that was uploaded on the first machine."""
    job = bring(alice, TABLE)
    files.store(session, files.path_of(settings.data_dir, job.file))
    return job


def lines(session: Session) -> int:
    session.rollback()
    return session.scalar(select(func.count()).select_from(Link)) or 0


def state_of(session: Session, job: LinkImport) -> tuple[str, int]:
    session.rollback()
    session.refresh(job)
    return job.state, job.made


def test_an_import_runs_on_a_machine_that_has_not_its_file(session, job, settings, other) -> None:
    shutil.rmtree(files.directory_of(settings.data_dir))  # the first machine is gone
    assert [one.id for one in runs.unfinished_imports(session, other.data_dir)] == [job.id]
    runs.run(job.id, other)
    assert state_of(session, job) == ("done", 30)
    assert lines(session) == 30


@pytest.mark.parametrize("size", [0, 1, 1000, 1001, 3000])
def test_a_file_comes_whole(size, session, settings, other, monkeypatch) -> None:
    monkeypatch.setattr(files, "PART_BYTES", 1000)
    here = files.new_file(settings.data_dir)
    here.write_bytes(b"x" * size)
    files.store(session, here)
    there = files.directory_of(other.data_dir) / here.name
    assert files.fetch(session, there)
    assert there.read_bytes() == here.read_bytes()
    assert there.stat().st_mode & 0o777 == 0o600
    assert [each for each in there.parent.iterdir() if each.name.startswith(".")] == []


def test_a_file_that_is_half_stored_is_not_there(session, settings, other, monkeypatch) -> None:
    monkeypatch.setattr(files, "PART_BYTES", 10)
    here = files.new_file(settings.data_dir)
    here.write_bytes(b"x" * 25)

    def die() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        files.store(session, here, after_part=die)
    there = files.directory_of(other.data_dir) / here.name
    assert not files.is_there(session, there)
    assert not files.fetch(session, there)


def test_a_running_import_is_left_alone_by_other_machines_until_its_lease_ends(
    session, job, settings, other, monkeypatch
) -> None:
    monkeypatch.setattr(runs, "BATCH_SIZE", 10)
    runs.begin_try(job, settings)
    taking = runs.begin(job, settings)
    assert taking and taking.step()  # and here its machine dies
    assert runs.unfinished_imports(session, other.data_dir) == []
    runs.run(job.id, other)
    assert state_of(session, job) == ("taking", 10)
    assert [one.id for one in runs.unfinished_imports(session, settings.data_dir)] == [job.id], (
        "its own machine"
    )
    session.execute(update(LinkImport).values(lease=now() - dt.timedelta(seconds=1)))
    session.commit()
    runs.run(job.id, other)
    assert state_of(session, job) == ("done", 30)
    assert lines(session) == 30


def asked(session: Session, user: User) -> Archive:
    archives.ask(user, "https://go.example")
    session.commit()
    return session.scalars(select(Archive)).one()


def test_an_archive_can_be_downloaded_from_another_machine(session, alice, settings, other) -> None:
    row = asked(session, alice)
    archives.run(row.id, settings)
    made = archives.path_of(settings.data_dir, row.file)
    there = archives.path_of(other.data_dir, row.file)
    assert files.is_there(session, there)
    assert not there.exists()
    assert files.fetch(session, there)
    assert there.read_bytes() == made.read_bytes()


def test_one_machine_makes_an_archive(session, alice, settings, other, monkeypatch) -> None:
    row = asked(session, alice)
    made: list[str] = []

    def members(*_: object) -> list[archives.Member]:
        if not made:
            made.append("first")
            assert archives.unfinished_archives(session, machine_id(other.data_dir)) == []
            archives.run(row.id, other)  # it has looked a moment earlier
        return [archives.Member("a.txt", ["line\n"])]

    monkeypatch.setattr(archives, "members", members)
    archives.run(row.id, settings)
    session.refresh(row)
    assert (row.state, row.tries, row.who) == ("done", 1, machine_id(settings.data_dir))
    assert not archives.path_of(other.data_dir, row.file).exists()


def test_parts_go_when_nothing_needs_them(session, job, settings, alice) -> None:
    row = asked(session, alice)
    archives.run(row.id, settings)
    session.execute(update(FilePart).values(datetime=now() - dt.timedelta(hours=2)))
    session.commit()
    services.tidy(session, settings.data_dir)
    assert sorted(session.scalars(select(FilePart.file))) == sorted([job.file, row.file])
    runs.run(job.id, settings)
    session.delete(row)
    session.commit()
    services.tidy(session, settings.data_dir)
    assert session.scalars(select(FilePart.file)).all() == []
