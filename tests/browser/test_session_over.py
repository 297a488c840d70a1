"""A session that ends while a form is open: what was typed stays, and is saved after a sign-in beside it."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from playwright.sync_api import Locator, Page, expect
from sqlalchemy import delete, select
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User, UserSession
from app.projects.models import Project
from tests.browser.conftest import Watch
from tests.factories import PASSWORD

pytestmark = [pytest.mark.browser, pytest.mark.full]
WIDTHS = pytest.mark.parametrize("width", [1280, 390])


class Form(NamedTuple):
    """A form of the dashboard: its page, a field of it with what is typed, and its button."""

    path: str
    field: str
    text: str
    button: str


FORMS = {
    "a link": Form("links/new", "[name=location_url]", "https://example.com/kept", "Create link"),
    "the address": Form("account/email", "[name=new_email]", "kept@example.com", "Change the address"),
}


def end_sessions(session: scoped_session[Session]) -> None:
    session.rollback()
    session.execute(delete(UserSession))
    session.commit()


def told(page: Page) -> Locator:
    return page.get_by_role("dialog", name="You are signed out")


def forgive(watch: Watch) -> None:
    """Check that the console has only the refused requests of a session that is over, and forget these."""
    noted = ("401", "403", "htmx:responseError", "Response Status Error Code")
    assert [one for one in watch.complaints if not any(word in one for word in noted)] == []
    watch.complaints.clear()


def sign_in_beside(page: Page, watch: Watch, email: str) -> None:
    """Follow the message's link to a tab of its own, and sign in there. That tab closes itself."""
    with page.context.expect_page() as opened:
        told(page).get_by_role("link", name="Sign in in a new tab").click()
    beside = watch.on(opened.value)
    beside.get_by_label("E-mail").fill(email)
    beside.get_by_label("Password").fill(PASSWORD)
    with beside.expect_event("close"):
        beside.keyboard.press("Enter")
    expect(told(page)).to_be_hidden()


@pytest.mark.parametrize("name", FORMS)
def test_a_page_keeps_what_was_typed(
    name: str, desk: Page, site: str, watch: Watch, session: scoped_session[Session], alice: User
) -> None:
    email, form = alice.email, FORMS[name]
    desk.goto(f"{site}/dashboard/{form.path}")
    field = desk.locator(f"main {form.field}").first
    field.fill(form.text)
    end_sessions(session)
    button = desk.get_by_role("button", name=form.button, exact=True)
    button.click()
    expect(told(desk)).to_be_visible()
    expect(field).to_have_value(form.text)
    sign_in_beside(desk, watch, email)
    expect(field).to_have_value(form.text)
    with desk.expect_response(lambda answer: answer.request.method == "POST") as sent:
        button.click()
    assert sent.value.status in {200, 303, 422}  # 422: what else the form wants is said beside its field
    desk.wait_for_load_state()
    forgive(watch)


@WIDTHS
def test_a_dialog_goes_on_after_a_sign_in_beside(
    width: int, desk: Page, site: str, watch: Watch, session: scoped_session[Session], alice: User
) -> None:
    """By keys alone, and saved at the first try."""
    email = alice.email
    desk.set_viewport_size({"width": width, "height": 800})
    desk.goto(f"{site}/dashboard/projects/")
    desk.get_by_role("link", name="Create project").click()
    field = desk.locator("#sheet [name=name]")
    field.fill("Kept")
    end_sessions(session)
    desk.keyboard.press("Enter")
    expect(told(desk)).to_be_visible()
    sign_in_beside(desk, watch, email)
    expect(field).to_have_value("Kept")
    field.press("Enter")
    expect(desk.get_by_role("status").filter(has_text="Kept is created.").first).to_be_visible()
    session.rollback()
    assert session.scalars(select(Project.name)).all() == ["Kept"]
    forgive(watch)
