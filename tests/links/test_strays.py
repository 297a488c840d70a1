"""Do pictures that nobody names go, and only those?"""

from __future__ import annotations

import os
import time
from pathlib import Path

from app.config import Settings
from app.links.removal import delete
from app.links.strays import remove_strays

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
    delete(gone)
    session.commit()
    assert remove_strays(session()) == 2
    left = {path.name for path in directory.iterdir()}
    assert left == {used, shown, trashed, f"{'d' * 32}.png", "somebody-elses.txt"}
    assert remove_strays(session()) == 0


def test_no_pictures_at_all(session, settings: Settings) -> None:
    assert remove_strays(session()) == 0
