"""The dashboard while the database is moved: it says so, and reads on."""

from __future__ import annotations

import pytest

from app.core import write_stop
from app.core.config import Settings
from app.core.write_stop import CopyState, Phase
from app.operations.database_copy import moving, targets
from tests.dashboard.conftest import Desk

SAID = {
    Phase.COPYING: "At the end nothing can be changed for a moment",
    Phase.READ_ONLY: "nothing can be changed until that is done",
    Phase.COMPLETE: "nothing can be changed until that is done",
}


@pytest.mark.parametrize("phase", Phase)
def test_it_says_so(desk: Desk, settings: Settings, phase: Phase) -> None:
    write_stop.write_state(settings, CopyState(phase, "postgresql://elsewhere"))
    assert SAID[phase] in desk.get("/links/").text
    write_stop.remove_state(settings)
    assert "The database is being moved" not in desk.get("/links/").text


def test_a_change_is_refused_with_the_reason(desk: Desk, settings: Settings) -> None:
    source = targets.open_source(settings)
    source.refuse_changes()
    source.close()
    write_stop.write_state(settings, CopyState(Phase.COMPLETE, "postgresql://elsewhere"))
    answer = desk.post("/projects/new", {"name": "Autumn", "color": "#123456"})
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "30")
    assert "Nothing can be changed right now" in answer.text
    moving.cancel(settings)
    assert desk.post("/projects/new", {"name": "Autumn", "color": "#123456"}).status_code == 303


def test_it_is_of_the_database_that_is_set(desk: Desk, settings: Settings) -> None:
    """A state that names another database means nothing: the instance has moved."""
    write_stop.write_state(settings, CopyState(Phase.COMPLETE, "postgresql://elsewhere"))
    path = write_stop.path_of(settings)
    path.write_text(path.read_text().replace(write_stop.identify(settings.database_url), "0" * 16))
    assert write_stop.read_state(settings) is None
    path.write_text('{"database": ')
    assert write_stop.read_state(settings) is None
