"""Cleanup of import files: only unneeded ones are removed."""

from __future__ import annotations

import datetime as dt
import os

import pytest

from app.core.clock import now
from app.import_export.cleanup import tidy

pytestmark = pytest.mark.databases


def test_what_nobody_needs_goes(session, settings, alice, bring) -> None:
    old = dt.timedelta(days=8)
    forgotten = bring(alice, "location_url\nx\n", "checked", datetime=now() - old)
    waiting = bring(alice, "location_url\nx\n", "taking", datetime=now() - old)
    new = bring(alice, "location_url\nx\n", "done")
    directory = settings.data_dir / "imports"
    for job in (forgotten, waiting):
        os.utime(directory / job.file, (0, 0))
    assert tidy(session, settings.data_dir) == 1
    assert sorted(path.name for path in directory.iterdir()) == sorted([waiting.file, new.file])
    session.refresh(forgotten)
    assert forgotten.state == "ended"
