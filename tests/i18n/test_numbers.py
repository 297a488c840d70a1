"""Numbers and percentages as each language writes them."""

from __future__ import annotations

import pytest
from flask import Flask
from flask_babel import force_locale

from app.i18n import digits, percent


@pytest.mark.parametrize(
    ("tag", "shown"),
    [
        ("en", ("−13%", "+12%", "0%", "1,234.5")),
        ("de", ("−13\N{NO-BREAK SPACE}%", "+12\N{NO-BREAK SPACE}%", "0\N{NO-BREAK SPACE}%", "1.234,5")),
        ("fr", ("−13\N{NO-BREAK SPACE}%", "+12\N{NO-BREAK SPACE}%", "0\N{NO-BREAK SPACE}%",
                "1\N{NARROW NO-BREAK SPACE}234,5")),
        ("es", ("−13\N{NO-BREAK SPACE}%", "+12\N{NO-BREAK SPACE}%", "0\N{NO-BREAK SPACE}%", "1.234,5")),
    ],
    ids=["English", "German", "French", "Spanish"],
)  # fmt: skip
def test_numbers_of_a_language(app: Flask, tag: str, shown: tuple[str, ...]) -> None:
    with app.test_request_context(), force_locale(tag):
        found = (percent(-13.2, is_signed=True), percent(12, is_signed=True), percent(0.2), digits(1234.5, 1))
    assert found == shown
