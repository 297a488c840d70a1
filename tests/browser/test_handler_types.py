"""The types of handlers in the form: each says what to paste and where to find it, on any screen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.notifications.models import NotificationHandler
from app.notifications.transport import chosen_transports
from tests.notifications.receivers import Says, WebReceiver

pytestmark = [pytest.mark.browser, pytest.mark.full]
PICTURES = os.environ.get("WAYPOST_TEST_PICTURES")


@pytest.fixture
def web() -> Iterator[WebReceiver]:
    receiver = WebReceiver()
    yield receiver
    receiver.stop()


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


@pytest.mark.settings(ALLOW_PRIVATE_NETWORKS="127.0.0.0/8", BASE_URL="https://go.example")
def test_made_and_tested(desk: Page, site: str, web: WebReceiver, session: scoped_session[Session]) -> None:
    desk.goto(f"{site}/dashboard/handlers/")
    desk.get_by_role("link", name="Create handler").first.click()
    dialog = desk.get_by_role("dialog")
    dialog.get_by_role("radio", name="ntfy").check()
    expect(dialog.get_by_label("Name")).to_have_value("ntfy")
    dialog.get_by_label("Server").and_(dialog.locator("#ntfy")).fill(f"{web.url}/?x")
    dialog.get_by_label("Topic").fill("my topic")
    dialog.get_by_role("button", name="Create handler").click()
    expect(dialog.locator("#ntfy-error")).to_contain_text("without ? and #")
    expect(dialog.locator("#ntfy_topic-error")).to_contain_text("letters from a to z")
    dialog.locator("#ntfy").fill(web.url)
    dialog.get_by_label("Topic").fill("waypost-1")
    dialog.get_by_role("button", name="Create handler").click()
    row = desk.get_by_role("listitem").filter(has_text="ntfy")
    expect(row).to_contain_text(web.url)
    row.get_by_role("button", name="Test ntfy").click()
    expect(desk.get_by_role("status").filter(has_text="The test has arrived at ntfy.")).to_be_visible()
    assert [heard.json["topic"] for heard in web.heard] == ["waypost-1"]
    web.answers.append(Says(403, '{"code":40301,"http":403,"error":"forbidden"}'))
    row.get_by_role("button", name="Test ntfy").click()
    expect(desk.get_by_text("ntfy says: forbidden.").first).to_be_visible()
    session.rollback()
    handler = session.scalars(select(NotificationHandler)).one()
    assert handler.settings == {"ntfy": web.url, "ntfy_topic": "waypost-1"}
