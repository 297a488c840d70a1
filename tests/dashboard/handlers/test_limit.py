"""The page of a new handler, where the workspace has as many as it may have."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from app.notifications.models import NotificationHandler
from tests.dashboard.conftest import Desk

CHAT = {"type": "webhook", "name": "Chat", "webhook": "https://hooks.example/a"}


@pytest.mark.settings(MAX_HANDLERS="1")
def test_one_more_is_refused_in_words(
    desk: Desk, session: Any, alice: User, make_handler: Callable[..., Any]
) -> None:
    make_handler(alice)
    session.commit()
    answer = desk.post("/handlers/new", CHAT)
    assert answer.status_code == 422
    assert "A workspace may have at most 1 handlers." in answer.text
    assert session.query(NotificationHandler).count() == 1
