"""Capture: the bookmarklet on another site's page, the share sheet of a phone, and the installed app."""

from __future__ import annotations

from typing import Any
from urllib.parse import unquote

import pytest
from playwright.sync_api import Page, expect
from sqlalchemy import select
from sqlalchemy.orm import Session, scoped_session

from app.links.models import Link
from tests.browser.conftest import ELSEWHERE

pytestmark = [pytest.mark.browser, pytest.mark.full]


def links_of(session: scoped_session[Session]) -> list[Link]:
    session.rollback()
    return list(session.scalars(select(Link)))


def clipboard(page: Page) -> str:
    return str(page.evaluate("navigator.clipboard.readText()"))


def press(page: Page) -> None:
    page.get_by_role("button", name="Create and copy").click()
    expect(page.get_by_role("status").filter(has_text="Copied.")).to_be_visible()


def test_the_bookmarklet_shortens_the_page_that_it_is_pressed_on(
    desk: Page, site: str, watch: Any, session: scoped_session[Session]
) -> None:
    desk.goto(f"{site}/dashboard/account/")
    desk.get_by_role("link", name="Set it up").click()
    button = desk.get_by_role("link", name="Shorten with Waypost")
    code = unquote(str(button.get_attribute("href"))).removeprefix("javascript:")
    button.click()  # here it does nothing but say what it is for
    expect(desk.get_by_role("status").filter(has_text="Drag it to your bookmarks bar")).to_be_visible()

    desk.context.grant_permissions(["clipboard-read", "clipboard-write"], origin=site)
    other = desk.context.new_page()
    address = f"{site.replace('127.0.0.1', ELSEWHERE)}/some/page?of=it"
    other.goto(address)
    other.evaluate("document.title = 'A page & its “title” ' + 'x'.repeat(300)")
    with other.expect_popup() as opening:
        run = {"expression": code, "userGesture": True}
        desk.context.new_cdp_session(other).send("Runtime.evaluate", run)
    window = watch.on(opening.value)
    expect(window.get_by_label("Destination")).to_have_value(address)
    expect(window.get_by_label("Title")).to_have_value("A page & its “title” " + "x" * 139)
    assert links_of(session) == []
    press(window)
    (link,) = links_of(session)
    assert (link.location_url, clipboard(window)) == (address, f"{site}/{link.url}")
    expect(window.get_by_role("button", name="Copy")).to_be_focused()
    window.reload()  # which makes no second one
    expect(window.get_by_text(f"{site}/{link.url}")).to_be_visible()
    assert len(links_of(session)) == 1


def test_chromium_can_install_it_with_its_share_target(desk: Page, site: str) -> None:
    desk.goto(f"{site}/dashboard/capture/tools")
    session = desk.context.new_cdp_session(desk)
    found = session.send("Page.getAppManifest")
    assert found["errors"] == []
    assert found["manifest"]["shareTarget"]["action"] == f"{site}/dashboard/capture"
    wrong = session.send("Page.getInstallabilityErrors")["installabilityErrors"]
    # a context of a test is a private window, which installs nothing
    assert [one["errorId"] for one in wrong if one["errorId"] != "in-incognito"] == []
