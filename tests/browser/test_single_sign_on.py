"""Single sign-on in a browser: through the button and back, on a phone and on a wide screen."""

from __future__ import annotations

import pytest
from playwright.sync_api import BrowserContext, Page, expect
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User, UserSession
from app.accounts.oidc import identities
from app.accounts.oidc import provider as cached_document
from tests.accounts.oidc.conftest import provider, settings
from tests.accounts.oidc.scripted_provider import ScriptedProvider
from tests.browser.conftest import Watch
from tests.browser.test_accessibility import sideways, violations
from tests.factories import PASSWORD

__all__ = ["provider", "settings"]

pytestmark = [pytest.mark.browser, pytest.mark.full, pytest.mark.settings(OIDC_NAME="Example ID")]
SIZES = {"phone": (390, 844), "wide": (1280, 800)}
BUTTON = "Continue with Example ID"


def look(page: Page) -> None:
    page.wait_for_load_state()
    for scheme in ("light", "dark"):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
        assert (violations(page), sideways(page)) == ([], []), (page.url, scheme)


@pytest.mark.parametrize("size", SIZES)
def test_through_the_button_and_back(
    context: BrowserContext,
    site: str,
    alice: User,
    watch: Watch,
    provider: ScriptedProvider,
    session: scoped_session[Session],
    monkeypatch: pytest.MonkeyPatch,
    size: str,
) -> None:
    session.commit()
    width, height = SIZES[size]
    page = watch.on(context.new_page())
    page.set_viewport_size({"width": width, "height": height})
    page.goto(f"{site}/dashboard/projects/")
    expect(page.get_by_label("E-mail")).to_be_visible()
    look(page)
    page.get_by_role("link", name=BUTTON).click()
    expect(page.get_by_role("heading", name="Link your account")).to_be_visible()
    look(page)
    page.get_by_label("Password").fill("a guess")
    page.keyboard.press("Enter")
    expect(page.get_by_text("This is not the password of this account.")).to_be_visible()
    page.get_by_label("Password").fill(PASSWORD)
    page.keyboard.press("Enter")
    page.wait_for_url(f"{site}/dashboard/projects/")
    expect(page.get_by_text("Your account is linked.")).to_be_visible()

    page.goto(f"{site}/dashboard/account/")
    expect(page.locator("#single-sign-on")).to_contain_text("Linked")
    look(page)

    # now without a password, and some time later
    session.rollback()
    session.query(User).update({"password_hash": identities.NO_PASSWORD})
    session.query(UserSession).update({"password_datetime": None})
    session.commit()
    page.goto(f"{site}/dashboard/keys/new")
    again = page.get_by_role("link", name="Sign in with Example ID again")
    expect(again).to_be_visible()
    look(page)
    again.click()
    page.wait_for_url(f"{site}/dashboard/keys/new")
    expect(page.get_by_label("Name")).to_be_visible()
    expect(again).to_have_count(0)

    context.clear_cookies()
    page.goto(f"{site}/login")
    page.get_by_role("link", name=BUTTON).click()
    page.wait_for_url("**/dashboard/**")

    context.clear_cookies()
    provider.is_down = True
    monkeypatch.setattr(cached_document, "FRESH_SECONDS", -1.0)
    monkeypatch.setattr(cached_document, "STALE_SECONDS", -1.0)
    monkeypatch.setattr(cached_document, "RETRY_SECONDS", 0.0)
    page.goto(f"{site}/login")
    page.get_by_role("link", name=BUTTON).click()
    expect(page.get_by_text("does not answer as it should")).to_be_visible()
    look(page)
    to_provider = [
        line for line in watch.complaints if line.startswith(f"asked for {provider.url}/authorize?")
    ]
    assert len(to_provider) == 3
    watch.complaints = [
        line
        for line in watch.complaints
        if line not in to_provider and "status of 403" not in line  # the password that was a guess
    ]
