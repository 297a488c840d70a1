"""`flask doctor` as an ordinary user: it names files of other users, and folders that can't be written."""

from __future__ import annotations

import os
from pathlib import Path

from flask import Flask

from app.journal import segments
from app.operations.checks.files import foreign_files, unwritable_places
from tests.operations.test_owner import as_root, data_dir, in_child

__all__ = ["data_dir"]


@as_root
def test_files_of_another_user(app: Flask, data_dir: Path) -> None:
    """A file that can't be used is a problem, one that can is a warning. A disk's own folder is neither."""
    (data_dir / "uploads").mkdir()
    (data_dir / "lost+found").mkdir(mode=0o700)
    for path in (data_dir / "uploads", data_dir / "lost+found"):
        os.chown(path, 54321, 54321)
    found = list(foreign_files(data_dir))
    assert [one.level for one in found] == ["warning"], "root may use everything"
    assert "uploads belongs to another user (54321)" in found[0].detail
    data_dir.chmod(0o755)
    (data_dir / "uploads").chmod(0o755)

    def seen_by_another_user() -> list[list[str]]:
        os.setuid(54321)
        return [[one.level, one.detail] for one in foreign_files(data_dir)]

    (level, detail), *others = in_child(seen_by_another_user)
    assert (level, others) == ("problem", [])
    assert "main.db" in detail or "more" in detail
    assert "(root) and can't be used by 54321" in detail


@as_root
def test_folders_that_cant_be_written(app: Flask, data_dir: Path) -> None:
    """Checked as an ordinary user, for nothing keeps root from writing."""
    segments.directory_of(data_dir).chmod(0o555)
    data_dir.chmod(0o755)

    def seen_by_another_user() -> list[str]:
        os.setuid(54321)
        with app.app_context():
            return [one.detail for one in unwritable_places(data_dir)]

    found = in_child(seen_by_another_user)
    for name in ("", "/journal", "/main.db", "/clicks.db"):
        assert [one for one in found if one.startswith(f"{data_dir}{name} can't be written to")], found
