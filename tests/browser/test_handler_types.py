"""The types of handlers in the form: each says what to paste and where to find it, on any screen."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.notifications.transport import chosen_transports

pytestmark = [pytest.mark.browser, pytest.mark.full]
PICTURES = os.environ.get("WAYPOST_TEST_PICTURES")


def picture(page: Page, name: str) -> None:
    """Keep a picture of the page where the environment names a folder for it, to be looked at."""
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name}.png", full_page=True)


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_each_type_says_what_to_paste(desk: Page, site: str, width: int, theme: Any) -> None:
    desk.set_viewport_size({"width": width, "height": 800})
    desk.emulate_media(color_scheme=theme, reduced_motion="reduce")
    desk.goto(f"{site}/dashboard/handlers/new")
    picture(desk, f"picker-{width}-{theme}")
    kinds = desk.get_by_role("radiogroup", name="Notifications")
    expect(kinds.get_by_role("radio")).to_have_count(len(chosen_transports()))
    for type_, transport in chosen_transports().items():
        kinds.get_by_role("radio", name=str(transport.label), exact=True).check()
        panel = desk.locator(f'[data-for="type {type_}"]')
        expect(panel).to_be_visible()
        expect(desk.locator('[data-for^="type "]:visible')).to_have_count(1)
        for setting in transport.settings:
            field = panel.get_by_label(str(setting.label), exact=not setting.is_optional)
            expect(field).to_have_attribute("placeholder", setting.example)
            expect(field).to_have_accessible_description(str(setting.guidance))
        for step in transport.steps:
            expect(panel.get_by_text(str(step), exact=True)).to_be_visible()
        assert desk.evaluate("() => document.documentElement.scrollWidth <= innerWidth"), type_
        picture(desk, f"{type_}-{width}-{theme}")
