"""Web processes: what is made before they are forked."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from flask import Flask

from app.cli.web import context_of, warm
from app.links.models import Link
from app.public.answers import plain_page


def open_files() -> set[str]:
    """What this process has open, by number and name. Those of the look itself are gone by the next line."""
    numbers = [path for path in Path("/proc/self/fd").iterdir() if path.is_symlink()]
    return {f"{path.name} {path.readlink()}" for path in numbers}


@pytest.mark.databases
def test_what_forks_share_is_made_and_nothing_is_open(app: Flask) -> None:
    plain_page.cache_clear()
    files, threads = open_files(), threading.active_count()
    warm(app, "visitors")
    assert (open_files(), threading.active_count()) == (files, threads)
    links = vars(context_of(app))["compiled_links"]
    assert links.role == "visitors"
    assert links.store.engine.pool.checkedin() == 0
    assert plain_page.cache_info().currsize
    assert Link.__mapper__.configured
