"""What the link form says before it saves, in a browser: renames, ends in the past, aliases."""

from __future__ import annotations

import datetime as dt
import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import insert, select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.analytics.engine import open_engine
from app.analytics.models import Click, Counter
from app.core.clock import now
from app.core.config import Settings
from app.links.models import Link
from tests.browser.test_accessibility import OF_COLOURS, sideways, violations
from tests.factories import Factory

pytestmark = [pytest.mark.browser, pytest.mark.full]

RANDOM = re.compile(r"[a-hjkmnp-z2-9]{7}")
HOUR = dt.timedelta(hours=1)


@pytest.fixture(params=[1280, 390], ids=["desktop", "phone"])
def wide(desk: Page, request: pytest.FixtureRequest) -> Page:
    """The list of links on a wide screen and on a phone's."""
    desk.set_viewport_size({"width": request.param, "height": 800})
    return desk


@pytest.fixture
def click(settings: Settings, alice: User) -> Callable[[Link, int], None]:
    """`click(link, 7)`: the link has that many clicks, the last one two hours ago, and a bot since."""

    def click(link: Link, number: int) -> None:
        time_ms = int((now() - 2 * HOUR).timestamp() * 1000)
        with open_engine(settings).begin() as connection:
            connection.execute(insert(Counter.__table__), {"link_id": link.id, "clicks": number})
            rows = [(time_ms, False), (time_ms + 3_600_000, True)]
            about = {"link_id": link.id, "workspace_id": link.workspace_id, "visitor": "x"}
            connection.execute(
                insert(Click.__table__), [{"time_ms": at, "is_bot": is_bot, **about} for at, is_bot in rows]
            )

    return click


@pytest.fixture
def old(alice: User, factory: Factory, click: Callable[[Link, int], None]) -> Link:
    link = factory.link(alice, "old")
    click(link, 1204)
    return link


def alias_of(session: scoped_session[Session], link: Link) -> str:
    session.rollback()
    return session.scalars(select(Link.url).where(Link.id == link.id)).one()


def open_form(page: Page, site: str, id: int) -> Locator:
    """The form of a link in its dialog, opened from the list."""
    page.goto(f"{site}/dashboard/links/")
    page.locator(f"#row-{id} a[aria-haspopup=dialog]").first.click()
    dialog = page.get_by_role("dialog")
    expect(dialog.get_by_label("Short link")).to_be_visible()
    return dialog


def fold(within: Locator | Page, title: str) -> None:
    within.locator("summary", has_text=title).first.click()


def accessible(page: Page) -> None:
    """Nothing for axe in both themes, and nothing to scroll sideways."""
    assert (violations(page), sideways(page)) == ([], [])
    page.emulate_media(color_scheme="dark", reduced_motion="reduce")
    assert violations(page, rules=OF_COLOURS) == []
    page.emulate_media(color_scheme="light")


# ------------------------------------------------------------------- rename


def test_a_rename_says_what_breaks_at_once_and_asks(
    wide: Page, site: str, old: Link, session: scoped_session[Session]
) -> None:
    dialog = open_form(wide, site, old.id)
    dialog.get_by_label("Short link").fill("new")
    said = dialog.locator('[data-cautions="url"]')
    expect(said).to_contain_text("Printed QR codes, bookmarks and posts with 127")
    expect(said).to_contain_text("/old stop working. It had 1,204 clicks; the last one 2 hours ago.")
    accessible(wide)
    dialog.get_by_role("button", name="Save link").click()
    box = dialog.get_by_role("checkbox", name="Change it all the same")
    expect(box).to_be_focused()  # the browser asks for the tick
    assert alias_of(session, old) == "old"
    wide.keyboard.press("Space")
    fold(dialog, "Organize")
    dialog.locator("[name=title]").fill("More is typed")
    expect(dialog.locator("aside .address")).to_contain_text("/new")
    expect(box).to_be_checked()
    dialog.get_by_role("button", name="Save link").click()
    expect(wide.get_by_role("status").filter(has_text="/new is saved.")).to_be_visible()
    assert alias_of(session, old) == "new"


# ------------------------------------------------------------------ schedule


# --------------------------------------------------------------------- alias


def test_the_alias_is_seen_shuffled_and_given(
    wide: Page, site: str, session: scoped_session[Session]
) -> None:
    wide.get_by_role("link", name="Create link").first.click()
    dialog = wide.get_by_role("dialog")
    field = dialog.get_by_label("Short link")
    preview = dialog.get_by_role("complementary", name="Preview")
    first = field.get_attribute("placeholder") or ""
    assert RANDOM.fullmatch(first)
    expect(preview.locator(".address")).to_have_text(re.compile(rf"/{first}$"))
    code = preview.get_by_role("img", name=re.compile(f"QR code of 127.*{first}"))
    expect(code).to_be_visible()  # before there is a destination
    dialog.get_by_label("Destination", exact=True).fill("example.com/shop")
    expect(preview).to_contain_text("https://example.com/shop")
    expect(field).to_have_attribute("placeholder", first)
    picture = code.get_attribute("src")
    dialog.get_by_role("button", name="Another random one").click()
    expect(field).not_to_have_attribute("placeholder", first)
    second = field.get_attribute("placeholder") or ""
    assert RANDOM.fullmatch(second)
    expect(dialog.locator("#alias-note")).to_have_text(f"{second} is free.")
    shown = preview.get_by_role("img", name=re.compile(f"QR code of 127.*{second}"))
    expect(shown).not_to_have_attribute("src", str(picture))
    accessible(wide)
    field.fill("mine")
    expect(preview.locator(".address")).to_have_text(re.compile("/mine$"))
    dialog.get_by_role("button", name="Another random one").press("Enter")
    expect(field).to_have_value("")
    expect(field).not_to_have_attribute("placeholder", second)
    third = field.get_attribute("placeholder")
    dialog.get_by_role("button", name="Create link").click()
    expect(wide.get_by_role("status").filter(has_text=f"/{third} is created.")).to_be_visible()
    session.rollback()
    assert session.scalars(select(Link.url)).one() == third
