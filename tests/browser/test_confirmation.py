"""Confirmation page of limited links in a real browser: by touch and keyboard, tapped once and twice."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from playwright.sync_api import Page

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
