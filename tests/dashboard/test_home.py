"""What a browser keeps of the dashboard's look."""

from __future__ import annotations

import pytest

from tests.dashboard.conftest import Desk

CHOICES = {
    "theme, dark": ("theme", "dark", 'data-theme="dark"', ""),
    "density, comfortable": ("density", "comfortable", 'data-density="comfortable"', "purple"),
}


@pytest.mark.parametrize(("field", "value", "mark", "other"), CHOICES.values(), ids=CHOICES)
def test_a_choice_is_kept_and_taken_back(desk: Desk, field: str, value: str, mark: str, other: str) -> None:
    assert mark not in desk.get("/links/").text
    answer = desk.post(f"/{field}", {field: value, "back": "/dashboard/links/?search=x"})
    assert (answer.status_code, answer.headers["Location"]) == (303, "/dashboard/links/?search=x")
    assert "Max-Age=31536000" in answer.headers["Set-Cookie"]
    assert mark in desk.get("/links/").text
    desk.post(f"/{field}", {field: other, "back": "/dashboard/links/"})
    assert mark not in desk.get("/links/").text


def test_back_is_a_page_of_ours(desk: Desk) -> None:
    for field in ("theme", "density"):
        for back in ("//evil.example/", "https://evil.example/", "/\\evil.example", "/a\nb", ""):
            answer = desk.post(f"/{field}", {field: "dark", "back": back})
            assert answer.headers["Location"] == "/dashboard/", (field, back)
