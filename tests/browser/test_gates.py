"""Password and warning pages in a real browser: passed once, for every spelling of the alias."""

from __future__ import annotations

from collections.abc import Callable
from urllib.parse import quote

import pytest
from playwright.sync_api import BrowserContext, Page, expect

from app.accounts.passwords import hash_password
from app.links.models import Link
from tests.browser.test_visitor_pages import browser_context_args, change, link, shop, site  # noqa: F401
from tests.browser.visitors import Shop

pytestmark = pytest.mark.browser
PASSWORD = "open sesame 👩‍🚀"
SPELLINGS = {
    "ASCII": ("Abc", "aBC/"),
    "another script": ("Ссылка", "ссылка"),
    "emoji": ("A👩‍🚀", "a👩‍🚀"),
    "NFD": ("e\u0301", "É"),
    "a slash": ("Blog/Launch", "bLOG/launch/"),
}


@pytest.fixture
def there(shop: Shop) -> str:  # noqa: F811
    return f"{shop.url}/there"


@pytest.mark.full
@pytest.mark.parametrize(("alias", "other"), SPELLINGS.values(), ids=SPELLINGS)
def test_by_any_spelling(
    alias: str,
    other: str,
    page: Page,
    context: BrowserContext,
    link: Callable[..., Link],  # noqa: F811
    site: str,  # noqa: F811
    there: str,
) -> None:
    """A wrong password, the right one, the warning, then the destination with the query. A second visit
    skips both pages."""
    link(alias, password_hash=hash_password(PASSWORD), sensitive_content=True, clicks_limit=2,
         forward_query_parameters_is_enabled=True)  # fmt: skip
    page.goto(f"{site}/{quote(other)}?a=%41&b")
    assert page.url == f"{site}/{quote(alias)}?a=%41&b"
    expect(page.get_by_label("Password")).to_be_focused()
    page.keyboard.type("wrong")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_be_visible()
    expect(page.get_by_label("Password")).to_have_attribute("aria-invalid", "true")
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.get_by_role("button", name="Continue").click()
    page.wait_for_url(f"{there}?a=%41&b")
    assert {cookie["path"] for cookie in context.cookies()} == {f"/{quote(alias)}"}
    page.goto(f"{site}/{quote(alias)}")
    assert page.url == there
    page.goto(f"{site}/{quote(alias)}")
    expect(page.get_by_role("heading", name="This link has been used up")).to_be_visible()
