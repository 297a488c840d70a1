"""Account page: profile, notifications, password and colour theme."""

from __future__ import annotations

import pytest
from playwright.sync_api import Page

pytestmark = pytest.mark.browser


def test_the_colours_are_kept(desk: Page) -> None:
    colour = "getComputedStyle(document.documentElement).backgroundColor"
    light = desk.evaluate(colour)
    desk.get_by_role("button", name="Dark").click()
    dark = desk.evaluate(colour)
    assert dark != light
    desk.reload()
    assert desk.evaluate(colour) == dark
    # set in the HTML, before any script runs: nothing flashes
    assert 'data-theme="dark"' in desk.request.get(desk.url).text()
    desk.get_by_role("button", name="System").click()
    assert desk.evaluate(colour) == light
