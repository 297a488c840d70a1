"""Every page where there is little room: a low window, text twice as big, a zoom of 400 %, longer words.

And what must be seen there: what has the focus, and, where the reader's system has a few colours of its own,
what is on.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
from flask import Flask
from playwright.sync_api import Locator, Page, expect

from app.accounts.models import User
from tests.browser.test_accessibility import addresses, is_page, opened, rows, sideways
from tests.factories import Factory

__all__ = ["rows"]
pytestmark = [pytest.mark.browser, pytest.mark.full]


class Screen(NamedTuple):
    """A window, and the size of text that the reader has set in the browser."""

    width: int
    height: int
    text: int = 16


SCREENS = {
    "a low window": Screen(1280, 500),
    "text of 200 %": Screen(1280, 800, text=32),
    "a phone with text of 200 %": Screen(390, 844, text=32),
    "a zoom of 400 %": Screen(320, 256),
    "a small phone": Screen(320, 640),
}
# Each control gets the focus, as by Tab, and must be seen then: inside of the window, with nothing over its
# edges, and its words not cut.
UNSEEN = r"""() => {
  const controls = [...document.querySelectorAll("a[href], button, input:not([type=hidden]), select, textarea, summary")];
  const isShown = (one) => one.checkVisibility({ visibilityProperty: true, contentVisibilityAuto: true }) &&
    one.getClientRects().length > 0 && !one.closest(".sr, [inert]") && !one.disabled && one.tabIndex >= 0;
  const found = [];
  for (const one of controls.filter(isShown)) {
    one.focus();
    if (document.activeElement !== one) continue;
    const rects = [...one.getClientRects()];
    const { left, right, top } = rects[0];
    const { bottom } = rects.at(-1);
    const isTall = bottom - top > innerHeight / 2 || one.matches("textarea"); // its caret is what is scrolled to
    const x = Math.min(Math.max((left + right) / 2, 1), innerWidth - 2);
    const points = isTall ? [Math.max(top, 0) + 3] : [top + 3, bottom - 3];
    const isHit = (y) => {
      const hit = document.elementFromPoint(x, y);
      return hit && (one.contains(hit) || hit.contains(one) && !hit.matches("body, html, main, .content, .shell") || [...(one.labels ?? [])].some((l) => l.contains(hit)));
    };
    const isIn = top >= -1 && (isTall || bottom <= innerHeight + 1) && left >= -1 && right <= innerWidth + 1;
    const isCut = one.matches("button, .button, .nav-link, summary") && one.scrollWidth > one.clientWidth + 2 && getComputedStyle(one).overflowX !== "visible";
    if (!isIn || !points.every(isHit) || isCut)
      found.push([isIn ? "" : "outside", isCut ? "cut" : "", Math.round(top), Math.round(bottom), one.outerHTML.replace(/\s+/g, " ").slice(0, 110)].join(" "));
  }
  return found;
}"""


def adjust(page: Page, screen: Screen) -> None:
    page.set_viewport_size({"width": screen.width, "height": screen.height})
    sizes = {"standard": screen.text, "fixed": screen.text}
    page.context.new_cdp_session(page).send("Page.setFontSizes", {"fontSizes": sizes})


def faults(page: Page) -> list[str]:
    return [*sideways(page), *page.evaluate(UNSEEN)]


@pytest.mark.parametrize("screen", SCREENS.values(), ids=SCREENS)
def test_every_page(screen: Screen, desk: Page, site: str, app: Flask, rows: dict[str, int]) -> None:
    adjust(desk, screen)
    desk.emulate_media(reduced_motion="reduce")
    found = {}
    seen = 0
    for path in addresses(app, rows):
        if is_page(desk, f"{site}/dashboard/{path}"):
            desk.goto(f"{site}/dashboard/{path}")
            found[path] = faults(opened(desk))
            seen += 1
    assert {path: what for path, what in found.items() if what} == {}
    assert seen > 15


LANGUAGES = {
    f"{tag}, {name}": (tag, screen)
    for tag in ("de", "fr", "es")
    for name, screen in {"a desktop": Screen(1280, 900), "a phone": Screen(390, 844)}.items()
}


@pytest.mark.parametrize(("tag", "screen"), LANGUAGES.values(), ids=LANGUAGES)
def test_every_page_in_languages_with_longer_words(
    tag: str,
    screen: Screen,
    desk: Page,
    site: str,
    app: Flask,
    alice: User,
    rows: dict[str, int],
    factory: Factory,
) -> None:
    alice.language = tag
    factory.session.commit()
    adjust(desk, screen)
    desk.emulate_media(reduced_motion="reduce")
    found = {}
    for path in addresses(app, rows):
        if is_page(desk, f"{site}/dashboard/{path}"):
            desk.goto(f"{site}/dashboard/{path}")
            sidebar = desk.locator(".side").evaluate("side => side.scrollWidth - side.clientWidth")
            found[path] = [*faults(opened(desk)), *([f"the sidebar by {sidebar}"] if sidebar > 0 else [])]
    assert desk.locator("html").get_attribute("lang") == tag
    assert {path: what for path, what in found.items() if what} == {}
    assert len(found) > 15


def look_of(one: Locator) -> tuple[str, ...]:
    """What the eye has to tell it by: its colours and its border, in the system's own colours."""
    names = ["backgroundColor", "color", "borderTopColor", "outlineStyle", "outlineColor", "appearance"]
    parts = "[null, '::before'].flatMap(part => names.map(name => getComputedStyle(one, part)[name]))"
    return tuple(one.evaluate(f"(one, names) => {parts}", names))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_forced_colours_tell_on_from_off(
    scheme: Any, desk: Page, site: str, alice: User, factory: Factory
) -> None:
    factory.link(alice, "one")
    factory.link(alice, "two")
    desk.emulate_media(forced_colors="active", color_scheme=scheme, reduced_motion="reduce")
    desk.reload()
    rows = desk.locator("#rows > .row")
    rows.first.get_by_role("checkbox").check(force=True)
    desk.locator("h1").click()
    pairs = {
        "a ticked row": (rows.nth(0), rows.nth(1)),
        "here and elsewhere": (
            desk.get_by_role("link", name="Links", exact=True),
            desk.get_by_role("link", name="Projects", exact=True),
        ),
        "a density": (
            desk.get_by_role("button", name="Compact"),
            desk.get_by_role("button", name="Comfortable"),
        ),
        "a theme": (
            desk.get_by_role("button", name="System"),
            desk.get_by_role("button", name="Light"),
        ),
    }
    assert {name for name, (on, off) in pairs.items() if look_of(on) == look_of(off)} == set()
    desk.goto(f"{site}/dashboard/links/new")
    switch = opened(desk).get_by_role("switch", name="Warning page")
    off = look_of(switch)
    switch.check(force=True)
    desk.locator("h1").click()
    assert look_of(switch) != off
    desk.goto(f"{site}/dashboard/links/")
    desk.keyboard.press("ControlOrMeta+k")
    options = desk.get_by_role("option")
    expect(options.nth(1)).to_be_visible()
    assert look_of(options.nth(0)) != look_of(options.nth(1))
