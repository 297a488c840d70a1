"""The preview of an import: its kinds, its pages, and the words of the button that writes."""

from __future__ import annotations

import html
from collections.abc import Callable
from typing import Any

import pytest

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core.config import Settings
from app.import_export import preview, runs
from app.import_export.models import LinkImport
from app.links import services
from tests.import_export.conftest import bring

__all__ = ["bring"]

Preview = Callable[..., LinkImport]
TABLE = (
    "alias,destination,title\n"
    "one,https://example.com/,new\n"
    "two,https://example.com/,old\n"
    "three,https://example.com/,\n"
    "four,javascript:alert(1),\n"
)


@pytest.fixture
def checked(desk: Any, session: Any, settings: Settings, alice: User, bring: Any) -> Preview:
    """`checked(text, **choices)`: an import of alice's as the worker has checked it, with these choices."""
    for url in ("one", "two"):
        services.create(
            access_of(alice), {"url": url, "location_url": "https://example.com/", "title": "old"}
        )
    session.commit()

    def make(text: str = TABLE, **choices: str) -> LinkImport:
        job = bring(alice, text, "new")
        named = {f"column:{column}": field for field, column in job.columns.items()}
        answer = desk.post(f"/imports/{job.id}/check", {**named, "existing": "update", **choices})
        assert answer.status_code == 303, answer.text
        runs.run(job.id, settings)
        session.refresh(job)
        return job

    return make


def page_of(desk: Any, job: LinkImport, query: str = "") -> str:
    answer = desk.get(f"/imports/{job.id}{query}")
    assert answer.status_code == 200
    return html.unescape(answer.text)


def test_each_kind_has_its_rows(desk: Any, checked: Preview) -> None:
    job = checked()
    page = page_of(desk, job)
    for word in ("New", "Changed", "Unchanged", "Wrong"):
        assert f"<span>{word}</span> <b>1</b>" in page
    assert "Links that change" in page, "what is to be looked at comes first"
    assert "<del><bdi>old</bdi></del> <ins><bdi>new</bdi></ins>" in page
    assert "Import 1 link, update 1" in page
    assert "three" in page_of(desk, job, "?kind=new")
    assert "Links that stay as they are" in page_of(desk, job, "?kind=unchanged")
    wrong = page_of(desk, job, "?kind=wrong")
    assert "Line 5" in wrong
    assert "<b>Destination:</b> This must be an address" in wrong
    assert f"/imports/{job.id}/failed.csv" in wrong


def test_many_rows_come_in_pages(desk: Any, checked: Preview, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(preview, "PAGE_SIZE", 2)
    job = checked("alias,destination\n" + "".join(f"a{n},https://example.com/\n" for n in range(5)))
    first, last = page_of(desk, job), page_of(desk, job, "?kind=new&page=3")
    assert (">a0<" in first, ">a4<" in first, "Page 1 of 3" in first, 'rel="prev"' in first) == (
        True,
        False,
        True,
        False,
    )
    assert (">a0<" in last, ">a4<" in last, "Page 3 of 3" in last, 'rel="next"' in last) == (
        False,
        True,
        True,
        False,
    )


WRONG = {
    "an unknown choice": {"existing": "delete"},
    "an unknown choice for empty cells": {"existing": "update", "empty": "drop"},
    "no column that says which link": {"existing": "update", "column:alias": ""},
}


@pytest.mark.parametrize("choices", WRONG.values(), ids=WRONG)
def test_a_wrong_choice_is_said_and_kept(
    desk: Any, session: Any, alice: User, bring: Any, choices: dict[str, str]
) -> None:
    job = bring(alice, TABLE, "new")
    named = {f"column:{column}": field for field, column in job.columns.items()}
    answer = desk.post(f"/imports/{job.id}/check", {**named, **choices})
    assert answer.status_code == 422
    assert 'role="alert"' in answer.text
    assert ('value="update" checked' in answer.text) == (choices["existing"] == "update")
    session.refresh(job)
    assert (job.state, job.is_update) == ("new", False)
