"""Orphaned uploads: pictures that no link or history names are removed, and no others."""

from __future__ import annotations

import os
import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from app.core.config import Settings
from app.links import previous_uploads, services
from app.links.models import LinkChange
from app.links.orphan_uploads import remove_strays
from app.links.removal import delete
from tests.writes import write

OLD = time.time() - 2 * 24 * 60 * 60


def made(directory: Path, name: str, *, is_old: bool = True) -> str:
    directory.mkdir(exist_ok=True)
    (directory / name).write_bytes(b"x")
    if is_old:
        os.utime(directory / name, (OLD, OLD))
    return name


def test_only_what_nobody_names(session, settings: Settings, alice, make_link) -> None:
    directory = settings.data_dir / "uploads"
    used, shown, trashed = (made(directory, f"{letter * 32}.png") for letter in "abc")
    made(directory, f"{'d' * 32}.png", is_old=False)
    made(directory, "somebody-elses.txt")
    made(directory, f"{'e' * 32}.webp")
    made(directory, f".{'f' * 32}.png")
    make_link(alice, cloaking_favicon=used, cloaking_opengraph=shown)
    gone = make_link(alice, cloaking_favicon=trashed)
    session.commit()
    gone_id = gone.id
    delete(gone)
    session.commit()
    assert remove_strays(session()) == 2
    left = {path.name for path in directory.iterdir()}
    assert left == {used, shown, f"{'d' * 32}.png", "somebody-elses.txt"}
    assert previous_uploads.find(gone_id, trashed)
    assert remove_strays(session()) == 0


def test_those_of_links_in_the_trash_stay_and_are_not_served(
    session, settings: Settings, alice, make_link, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also if an earlier version left them among the served ones, and if no history names them."""
    directory = settings.data_dir / "uploads"
    name = made(directory, f"{'a' * 32}.png")
    link = make_link(alice, cloaking_favicon=name)
    link_id = link.id
    session.commit()
    delete(link)
    session.commit()
    made(directory, name)
    previous_uploads.place_of(link_id, name).unlink()
    session.execute(sa.delete(LinkChange))
    session.commit()
    for _ in range(2):
        assert remove_strays(session()) == 0
        monkeypatch.setattr(previous_uploads, "YOUNGEST_SECONDS", -60)
        assert not list(directory.iterdir())
        assert previous_uploads.place_of(link_id, name).is_file()


def test_of_replaced_ones_those_that_no_history_names(
    session, settings: Settings, alice, make_link, monkeypatch: pytest.MonkeyPatch
) -> None:
    uploads, shown, old = settings.data_dir / "uploads", f"{'a' * 32}.png", f"{'b' * 32}.png"
    link = make_link(alice, cloaking_favicon=made(uploads, shown), cloaking_opengraph=made(uploads, old))
    session.commit()
    write(services.update, link, {"cloaking_opengraph": None})
    kept, others = previous_uploads.place_of(link.id, old), previous_uploads.directory()
    for stray in (f"{link.id}-{shown}", f"{link.id + 1}-{old}"):
        made(others, stray)
    made(others, "somebody-elses.txt")
    assert remove_strays(session()) == 0  # they are young
    monkeypatch.setattr(previous_uploads, "YOUNGEST_SECONDS", -60)
    assert remove_strays(session()) == 2
    assert {path.name for path in others.iterdir()} == {kept.name, "somebody-elses.txt"}
    assert [path.name for path in uploads.iterdir()] == [shown]


def test_no_pictures_at_all(session, settings: Settings) -> None:
    assert remove_strays(session()) == 0
