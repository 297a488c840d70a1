"""Every page where there is little room: a low window, text twice as big, a zoom of 400 %.

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
    const isTall = bottom - top > innerHeight / 2;
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
