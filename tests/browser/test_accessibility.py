"""Accessibility of the pages: axe, both themes, a phone's width, keyboard, and size of the first load."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from importlib.resources import files
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, Page, expect

from app.accounts.models import User
from app.links.models import Link
from app.notifications.models import DeliveryAttempt
from app.notifications.outbox import deliver

pytestmark = [pytest.mark.browser, pytest.mark.full]

AXE = files("axe_playwright_python").joinpath("axe.min.js").read_text(encoding="utf-8")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# addresses that are checked beside the plain ones
ASKED = ["links/?search=nothing+like+it", "links/?results_per_page=7"]
ASKED_OF_ROWS = ["links/{links}/try?ip=x", "domains/{full}/delete"]
OF_COLOURS = ["color-contrast", "link-in-text-block"]  # the rules whose outcome depends on the theme
NARROW = {"width": 320, "height": 640}


# what appears is paler until it is there
SETTLED = """() => Promise.allSettled(document.getAnimations()
    .filter((each) => each.effect?.getComputedTiming().iterations !== Infinity).map((each) => each.finished))
    .then(() => null)"""


def violations(page: Page, within: str = "html", rules: list[str] | None = None) -> list[Any]:
    """What axe finds. Its source is evaluated, because the pages' policy blocks added script tags."""
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE)
    page.evaluate(SETTLED)
    found = page.evaluate(
        "([within, only]) => axe.run(within, {runOnly: only, preload: false})", [within, rules or TAGS]
    )
    return [(one["id"], [node["html"] for node in one["nodes"]]) for one in found["violations"]]


def deleted_and_restored(page: Page) -> list[Any]:
    """Delete a link from its menu, which is open, check the message, and undo it."""
    page.get_by_role("link", name="Delete").first.click()
    undo = page.get_by_role("status").get_by_role("button", name="Undo")
    expect(undo).to_be_visible()
    found = [*violations(page), *sideways(page)]
    undo.click()
    expect(undo).to_have_count(0)
    return found


def seen(page: Page) -> dict[str, list[Any]]:
    """Check a page in both themes, on a desktop's screen and on a phone's."""
    page.emulate_media(color_scheme="light", reduced_motion="reduce")
    found = {"light": violations(page)}
    page.emulate_media(color_scheme="dark")
    found["dark"] = violations(page, rules=OF_COLOURS)
    page.set_viewport_size(NARROW)  # type: ignore[arg-type]
    found["dark, on a phone"] = [*violations(page), *sideways(page)]
    page.emulate_media(color_scheme="light")
    found["on a phone"] = violations(page, rules=OF_COLOURS)
    page.set_viewport_size({"width": 1280, "height": 800})
    return {how: what for how, what in found.items() if what}


def addresses(app: Flask, rows: dict[str, int]) -> list[str]:
    """Every page of the application. The first part of the address says which row's id to fill in."""
    found = []
    for rule in app.url_map.iter_rules():
        family = rule.rule.removeprefix("/dashboard/").partition("/")[0]
        if rule.rule.startswith("/dashboard/") and "GET" in (rule.methods or ()):
            path = re.sub(r"<int:id>", str(rows.get(family, "<")), rule.rule.removeprefix("/dashboard/"))
            found += [] if "<" in path else [path]
    return sorted(set(found))


def is_page(desk: Page, address: str) -> bool:
    """Whether it is a page: no download, no fragment, no redirect."""
    answer = desk.request.get(address, max_redirects=0)
    is_html = answer.headers.get("content-type", "").startswith("text/html")
    return answer.status < 300 and is_html and "<html" in answer.text()


def sideways(page: Page) -> list[str]:
    """Elements that stick out to the right of the screen, unless an ancestor scrolls."""
    return page.evaluate(
        """() => document.documentElement.scrollWidth <= innerWidth ? [] :
        [...document.querySelectorAll("body *")].filter(e => e.getBoundingClientRect().right > innerWidth + 1)
        .filter(e => { while ((e = e.parentElement)) if (getComputedStyle(e).overflowX !== "visible") return false; return true; })
        .map(e => e.outerHTML.slice(0, 120))"""
    )


@pytest.fixture
def rows(alice: User, factory: Any) -> dict[str, int]:
    """One row of each kind, with many fields set and long words."""
    pixel = factory.pixel(
        alice, name="A pixel with a name of many words that goes on", pixel="nothing-like-it"
    )
    handler = factory.handler(
        alice, is_enabled=False, off_reason="No notification has arrived for five days."
    )
    delivery = deliver(factory.session, handler.id, "link.started", {"long": "w" * 300})
    delivery.attempts = [DeliveryAttempt(detail="It failed.", answer="<html>" + "x" * 300, duration_ms=1234)]
    targeting = {"targeting_type": "country_code", "targeting": [["DE", "https://example.de/" + "x" * 200]]}
    link = factory.link(
        alice,
        "a-very-long-alias-" + "z" * 120,
        location_url="https://example.com/" + "y" * 500,
        tags=("red", "w" * 32),
        title="A title",
        clicks_limit=5,
        schedule=True,
        cloaking_is_enabled=True,
        **targeting,
    )
    link.pixels, link.handlers = [pixel], [handler]
    factory.link(alice, "off", is_enabled=False)
    key, _ = factory.key(alice)
    project = factory.project(alice, name="A project with a name of many words that goes on and on")
    link.project_id = project.id
    domain = factory.domain(alice, "a-long-name-of-a-host." * 8 + "example", is_verified=False)
    full = factory.domain(alice, "go.example")
    factory.link(alice, domain_id=full.id)
    return {
        "links": link.id,
        "capture": link.id,
        "pixels": pixel.id,
        "handlers": handler.id,
        "keys": key.id,
        "projects": project.id,
        "domains": domain.id,
        "full": full.id,
        "users": alice.id,
    }


def opened(page: Page) -> Page:
    """Open the page and every fold of it: axe skips what is closed."""
    page.evaluate("document.querySelectorAll('details.fold').forEach(fold => (fold.open = true))")
    return page


def look_at(desk: Page, site: str, paths: Iterable[str]) -> dict[str, Any]:
    found = {}
    for path in paths:
        if "?" in path or is_page(desk, f"{site}/dashboard/{path}"):
            desk.goto(f"{site}/dashboard/{path}")
            found[path] = seen(opened(desk))
    assert len(found) > 15
    return {path: what for path, what in found.items() if what}


def test_empty_pages(desk: Page, site: str, app: Flask) -> None:
    assert look_at(desk, site, [*addresses(app, {}), *ASKED]) == {}


def test_full_pages(desk: Page, site: str, app: Flask, rows: dict[str, int]) -> None:
    states = [*ASKED, *(path.format(**rows) for path in ASKED_OF_ROWS)]
    assert look_at(desk, site, [*addresses(app, rows), *states]) == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_dialogs_menus_and_messages(theme: Any, desk: Page, site: str, rows: dict[str, int]) -> None:
    desk.emulate_media(color_scheme=theme, reduced_motion="reduce")
    found = {}
    for width in (1280, 320):
        desk.set_viewport_size({"width": width, "height": 700})
        for family, name in (("links", "link"), ("pixels", "pixel"), ("handlers", "handler")):
            desk.goto(f"{site}/dashboard/{family}/")
            for summary in ("Filter", "Sort"):
                desk.locator("summary", has_text=summary).click()
                found[f"{family}, {summary}, {width}"] = [
                    *violations(desk, "details[open] .panel"),
                    *sideways(desk),
                ]
                desk.keyboard.press("Escape")
            desk.get_by_role("link", name=f"Create {name}").click()
            desk.get_by_role("dialog").get_by_role("button", name=f"Create {name}").click()
            expect(desk.locator("dialog [aria-invalid=true]").first).to_be_visible()
            found[f"{family}, wrong, {width}"] = [*violations(opened(desk)), *sideways(desk)]
            desk.keyboard.press("Escape")
            if family == "links":
                desk.locator("[data-menu]").first.click()
                found[f"menu, {width}"] = [*violations(desk, "#row-menu"), *sideways(desk)]
                found[f"undo, {width}"] = deleted_and_restored(desk)
                continue
            desk.get_by_role("link", name="Delete").first.click()
            expect(desk.get_by_role("dialog")).to_be_visible()
            found[f"{family}, delete, {width}"] = [*violations(desk), *sideways(desk)]
    desk.get_by_role("dialog").get_by_role("button", name="Delete handler").click()
    expect(desk.get_by_role("status").filter(has_text="is deleted.")).to_be_visible()
    found["message"] = violations(desk)
    assert {where: what for where, what in found.items() if what} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pages_outside(browser: Browser, site: str, alice: User, theme: str) -> None:
    context = browser.new_context(color_scheme=theme)  # type: ignore[arg-type]
    page = context.new_page()
    found = {}
    for path in ("/login", "/dashboard/nothing", "/setup", "/setup/invitation"):
        page.goto(f"{site}{path}")
        found[path] = violations(page)
        page.set_viewport_size(NARROW)  # type: ignore[arg-type]
        found[f"{path} on a phone"] = [*violations(page), *sideways(page)]
    page.goto(f"{site}/login")
    page.fill("[name=email]", "alice@example.com")
    page.get_by_role("button", name="Sign in", exact=True).click()
    expect(page.locator("[aria-invalid=true]").first).to_be_visible()
    found["wrong"] = violations(page)
    context.close()
    assert {path: what for path, what in found.items() if what} == {}


def test_by_keyboard_alone(context: Any, desk: Page, alice: User, make_link: Callable[..., Link]) -> None:
    """The first Tab stop skips the navigation. A dialog keeps the focus, and returns it when it closes."""
    make_link(alice, "one")
    desk.reload()
    desk.keyboard.press("Tab")
    expect(desk.get_by_role("link", name="Skip to the content")).to_be_focused()
    desk.keyboard.press("Enter")
    expect(desk.locator("main")).to_be_focused()
    edit = desk.get_by_role("link", name="Edit 127")
    edit.focus()
    desk.keyboard.press("Enter")
    dialog = desk.get_by_role("dialog")
    expect(dialog.get_by_label("Destination", exact=True).first).to_be_focused()
    for _ in range(30):
        desk.keyboard.press("Tab")
        assert desk.evaluate(
            "document.activeElement === document.body || !!document.activeElement.closest('dialog')"
        )
    desk.keyboard.press("Escape")
    expect(edit).to_be_focused()
