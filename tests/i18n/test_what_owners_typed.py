"""What owners typed is never translated, even where it is the text of a message."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from sqlalchemy import insert

from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.notifications.models import NotificationHandler
from app.pixels.models import Pixel
from app.projects.models import Project
from scripts.catalogues import all_messages
from tests.dashboard.conftest import Desk, desk

__all__ = ["desk"]
MAX_NAME = 128
BETWEEN_TAGS = re.compile(r">([^<>]+)<")


def names() -> list[str]:
    """Every message that a name can be: short enough, on one line. Of a plural, each form."""
    texts = [text for text, _ in all_messages()]
    forms = {form for text in texts for form in ((text,) if isinstance(text, str) else text)}
    return sorted({" ".join(form.split()) for form in forms if len(form) <= MAX_NAME})


def texts_of(page: str) -> set[str]:
    return {" ".join(html.unescape(text).split()) for text in BETWEEN_TAGS.findall(page)}


@pytest.fixture
def german(desk: Desk, alice: Any) -> Desk:
    alice.language = "de"
    db.session.commit()
    return desk


ROWS: dict[str, tuple[type[Any], dict[str, Any]]] = {
    "projects": (Project, {"color": "#4263eb"}),
    "pixels": (Pixel, {"type": "social_a", "pixel": "123456789012345"}),
    "handlers": (NotificationHandler, {"type": "email", "settings": {"email": "a@example.com"}}),
}


@pytest.mark.parametrize("kind", ROWS)
def test_rows_named_after_messages_keep_their_names(
    german: Desk, alice: Any, kind: str, request: pytest.FixtureRequest
) -> None:
    """Named after every message with the long tests, else after every eighth."""
    model, columns = ROWS[kind]
    every = names()
    assert len(every) > 1000
    every = every[:: 1 if request.config.option.full else 8]
    db.session.execute(
        insert(model), [{**access_of(alice).row_columns, "name": name, **columns} for name in every]
    )
    db.session.commit()
    shown: set[str] = set()
    for page in range(1, len(every) // 250 + 2):
        shown |= texts_of(german.get(f"/{kind}/?page={page}&results_per_page=250").text)
    assert [name for name in every if name not in shown] == []
    # and among the choices of a link
    choices = texts_of(german.get("/links/new").text)
    assert [name for name in every if name not in choices] == []


def test_a_message_about_a_row_keeps_its_name(german: Desk) -> None:
    """The name is a value of the message: `Clicks is saved.`, not `Klicks ist gespeichert.`"""
    done = german.post("/projects/new", {"name": "Clicks", "color": "#4263eb"}, follow_redirects=True)
    assert "Clicks ist angelegt." in html.unescape(done.text)
    done = german.post(
        "/projects/new", {"name": "%(name)s is saved.", "color": "#4263eb"}, follow_redirects=True
    )
    assert "%(name)s is saved. ist angelegt." in html.unescape(done.text)
