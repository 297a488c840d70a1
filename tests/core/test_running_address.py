"""The address of the running instance, as other commands find it."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.accounts.setup import known_site
from app.core.config import Settings
from app.core.file_locks import lock_by_descriptor
from app.core.running_address import LOCK, OWNERS_LOCK, note_address, running_address

URL = "http://127.0.0.1:8123"


@pytest.mark.parametrize("name", [LOCK, OWNERS_LOCK])
def test_it_is_known_while_the_lock_is_held(name: str, tmp_path: Path) -> None:
    assert running_address(tmp_path) is None
    with lock_by_descriptor(tmp_path / name) as held:
        assert held is not None
        assert running_address(tmp_path) is None  # nothing is written yet
        note_address(held, URL + "0")
        note_address(held, URL)
        assert running_address(tmp_path) == URL
    assert running_address(tmp_path) is None


def test_a_lock_that_visitors_processes_share_says_nothing(tmp_path: Path) -> None:
    (tmp_path / LOCK).write_text(URL)
    with lock_by_descriptor(tmp_path / LOCK, shared=True):
        assert running_address(tmp_path) is None


def test_commands_name_it(settings: Settings) -> None:
    assert known_site(settings) == settings.local_url
    with lock_by_descriptor(settings.data_dir / LOCK) as held:
        assert held is not None
        note_address(held, URL)
        assert known_site(settings) == URL
