"""Looks of visitors' pages: both themes, the smallest phone, the keyboard, and no requests to other hosts."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import pytest
from flask import Flask
from playwright.sync_api import Browser, BrowserContext, Page, Response, expect

from app.accounts.passwords import hash_password
from app.core.clock import now
from app.core.errors import StoreDown
from app.links.models import LimitCounter, Link
from tests.browser.test_accessibility import NARROW, sideways, violations
from tests.browser.test_visitor_pages import IPHONE, link, site  # noqa: F401
from tests.browser.visitors import CALLS, HANGS, Outside
from tests.factories import Factory
from tests.server import BROWSER

pytestmark = [pytest.mark.browser, pytest.mark.full]

DAY = dt.timedelta(days=1)
MOST_TRIES = 30
LONG = "A title of a link with words of " + "unbelievable" * 6
# a page that goes on by itself stays as long as it is looked at: no script leads to another host or to an app
STAYS = """navigation.addEventListener("navigate", event => {
  if (new URL(event.destination.url).origin !== location.origin) { event.preventDefault(); }
});"""
PAGES: dict[str, dict[str, Any]] = {
    "password": {"password_hash": hash_password("secret")},
    "warning": {"sensitive_content": True},
    "not-yet": {"start_date": now() + DAY},
    "expired": {"end_date": now() - DAY},
    "plain+": {"location_url": "https://example.com/" + "y" * 500},
    "consent": {"pixels": [(type_, "1") for type_ in CALLS]},
    "app": {"app_linking_is_enabled": True, "location_url": "https://www.reddit.com/r/cats/"},
    "used": {"clicks_limit": 1},
    "tap": {"clicks_limit": 1, "clicks_limit_confirmation_is_enabled": True},
    "cloaked": {"cloaking_is_enabled": True},
    "nothing": {},
}


def assert_status(answer: Response | None, status: int) -> None:
    assert answer and answer.status == status


def is_down(*_: object) -> None:
    raise StoreDown


def try_in_vain(page: Page) -> None:
    """Try wrong passwords until the rate limit refuses."""
    for _ in range(MOST_TRIES):
        page.locator("input").fill("wrong")
        with page.expect_navigation() as came:
            page.locator("button").click()
        if came.value.status == 429:
            return
    raise AssertionError(f"{MOST_TRIES} tries were let in")


@pytest.fixture
def there() -> str:
    return "https://example.com/"


def opened(browser: Browser, site: str, theme: str, locale: str) -> tuple[BrowserContext, Page]:  # noqa: F811
    context = browser.new_context(color_scheme=theme, user_agent=IPHONE, locale=locale, viewport=NARROW)  # type: ignore[arg-type]
    Outside(context, site)
    context.add_init_script(STAYS)
    return context, context.new_page()


@pytest.mark.settings(PIXEL_CONSENT="ask")
@pytest.mark.parametrize(("theme", "locale"), [("light", "en-GB"), ("dark", "de-DE"), ("light", "fr-FR")])
def test_every_page(
    theme: str,
    locale: str,
    app: Flask,
    browser: Browser,
    link: Callable[..., Link],  # noqa: F811
    site: str,  # noqa: F811
    factory: Factory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, columns in PAGES.items():
        if name != "nothing":
            made = link(name.rstrip("+"), title=LONG, **columns)
            if name == "used":
                factory.session.add(LimitCounter(link_id=made.id, clicks=1))
                factory.session.commit()
    context, page = opened(browser, site, theme, locale)
    found = {}
    for name in PAGES:
        page.goto(f"{site}/{name}")
        found[name] = [*violations(page), *sideways(page)]
    page.goto(f"{site}/password")
    page.locator("input").fill("wrong")
    page.locator("button").click()
    expect(page.get_by_role("alert")).to_be_visible()
    found["wrong"] = [*violations(page), *sideways(page)]
    try_in_vain(page)
    found["too many tries"] = [*violations(page), *sideways(page)]
    page.set_extra_http_headers({"Sec-Purpose": "prefetch"})
    assert_status(page.goto(f"{site}/warning"), 503)
    found["prefetch"] = [*violations(page), *sideways(page)]
    page.set_extra_http_headers({})
    monkeypatch.setattr(app.extensions["redirects"].compiled_links, "find", is_down)
    assert_status(page.goto(f"{site}/warning"), 503)
    found["down"] = [*violations(page), *sideways(page)]
    context.close()
    assert {name: what for name, what in found.items() if what} == {}


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_with_pixels(theme: str, browser: Browser, link: Callable[..., Link], site: str) -> None:  # noqa: F811
    link("a", [("social_a", "1")], title=LONG)
    context = browser.new_context(color_scheme=theme, user_agent=BROWSER, viewport=NARROW)  # type: ignore[arg-type]
    outside = Outside(context, site)
    outside.answers = {"https://connect.facebook.net": HANGS}
    page = context.new_page()
    page.add_init_script(STAYS)
    page.goto(f"{site}/a", wait_until="commit")
    expect(page.get_by_role("link", name="Continue now")).to_be_visible()
    assert [*violations(page), *sideways(page)] == []
    for route in outside.held:
        route.abort()
    context.close()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_that_opens_an_app(
    theme: str,
    browser: Browser,
    link: Callable[..., Link],  # noqa: F811
    site: str,  # noqa: F811
) -> None:
    """In a browser of its own: Chromium asks about an unknown scheme, and takes no clicks until answered."""
    link("a", app_linking_is_enabled=True, location_url="https://www.youtube.com/watch?v=abc", title=LONG)
    context, page = opened(browser, site, theme, "en-GB")
    page.goto(f"{site}/a", wait_until="commit")
    expect(page.get_by_role("link", name="Open YouTube")).to_be_visible()
    expect(page.get_by_role("link", name="Continue in the browser")).to_be_visible()
    assert [*violations(page), *sideways(page)] == []
    context.close()
