"""Confirmation page of limited links in a real browser: by touch and keyboard, tapped once and twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from app.links.models import Link
from tests.browser.test_visitor_pages import browser_context_args, link, shop, site  # noqa: F401
from tests.browser.visitors import Shop
from tests.clients import Api

pytestmark = [pytest.mark.browser, pytest.mark.full]
TAP: dict[str, Any] = {"clicks_limit": 3, "clicks_limit_confirmation_is_enabled": True}


@pytest.fixture
def there(shop: Shop) -> str:  # noqa: F811
    return f"{shop.url}/there"


@pytest.fixture
def clicks(api: Api) -> Callable[[Link], int]:
    return lambda made: api.get(f"/links/{made.id}").json["data"]["clicks"]


def test_each_tap_uses_up_one_click(
    page: Page,
    link: Callable[..., Link],  # noqa: F811
    site: str,  # noqa: F811
    there: str,
    clicks: Callable[[Link], int],
) -> None:
    """Showing the page uses up no click, even twice. Going back and tapping again is another click."""
    made = link("blog/launch", title="Spring", forward_query_parameters_is_enabled=True, **TAP)
    for _ in range(3):
        page.goto(f"{site}/blog/launch?a=%41")
    expect(page.get_by_role("heading", name="Open this link now?")).to_be_visible()
    expect(page.get_by_role("button")).to_have_count(1)
    assert clicks(made) == 0
    page.get_by_role("button", name="Open link").click()
    page.wait_for_url(f"{there}?a=%41")
    assert clicks(made) == 1
    page.goto(f"{site}/blog/launch")
    page.keyboard.press("Tab")
    expect(page.get_by_role("button", name="Open link")).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(there)
    assert clicks(made) == 2


def test_a_double_tap_uses_up_one_click(
    page: Page,
    link: Callable[..., Link],  # noqa: F811
    site: str,  # noqa: F811
    there: str,
    clicks: Callable[[Link], int],
) -> None:
    made = link("a", **TAP)
    page.goto(f"{site}/a")
    page.get_by_role("button", name="Open link").dblclick()
    page.wait_for_url(there)
    assert clicks(made) == 1
