"""docs/configure.md is what the script makes of the code, and knows how to describe each value."""

from __future__ import annotations

import inspect

import pytest

from app.core.config import PREFIX, TABLE
from scripts import configure_page


def test_the_page_is_up_to_date() -> None:
    written = configure_page.PAGE.read_text()
    assert written == configure_page.render(), f"run `{configure_page.COMMAND}`"


def test_every_setting_is_on_it_once() -> None:
    rows = [line for line in configure_page.render().splitlines() if line.startswith(f"| `{PREFIX}")]
    assert sorted(row.split("`")[1] for row in rows) == sorted(PREFIX + name for name in TABLE)


@pytest.mark.parametrize("name", TABLE)
def test_its_values_are_described(name: str) -> None:
    assert configure_page.describe_values(name) != "text", "say in READERS what this one takes"
    assert inspect.isfunction(TABLE[name][1])
