"""Projects, domains and QR codes in dialogs."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Page, expect
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.domains import verification
from app.domains.models import Domain
from app.domains.verification import ProofResult
from tests.browser.test_pixels_handlers_keys import said
from tests.server import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.full]


def test_a_project_is_made_and_given_to_a_link(desk: Page, alice: User, factory: Any) -> None:
    factory.link(alice, "one")
    desk.get_by_role("link", name="Projects").click()
    desk.get_by_role("link", name="Create project").click()
    dialog = desk.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Launch")
    dialog.get_by_label("Colour").fill("#c92a2a")
    dialog.get_by_role("button", name="Create project").click()
    said(desk, "Launch is created.")
    desk.get_by_role("link", name="Links", exact=True).click()
    desk.get_by_role("link", name="Edit 127").click()
    dialog.locator("[data-fold=labels] summary").click()
    dialog.get_by_label("Project").select_option("Launch")
    dialog.get_by_role("button", name="Save link").click()
    row = desk.get_by_role("listitem").filter(has_text="/one")
    expect(row.locator("circle")).to_have_attribute("fill", "#c92a2a")
    row.get_by_role("link", name="Launch").click()
    expect(desk.get_by_text("Project: Launch")).to_be_visible()


def test_a_domain_is_made_and_verified(
    desk: Page, session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    proofs: list[bool] = [False]
    monkeypatch.setattr(
        verification, "look", lambda wanted: [ProofResult("txt", proofs[0], "What was seen.")]
    )
    desk.get_by_role("link", name="Domains").click()
    desk.get_by_role("link", name="Create domain").click()
    dialog = desk.get_by_role("dialog")
    dialog.get_by_label("Host").fill("localhost")
    dialog.get_by_role("button", name="Create domain").click()
    expect(dialog.locator("#host-error")).to_be_visible()
    dialog.get_by_label("Host").fill("https://Go.Example/")
    dialog.get_by_role("button", name="Create domain").click()
    expect(dialog.get_by_role("heading", name="Verify go.example")).to_be_visible()
    expect(dialog.get_by_text("_waypost.go.example", exact=True)).to_be_visible()
    row = desk.locator("#rows > .row").filter(has_text="go.example")
    expect(row).to_contain_text("Not verified")
    dialog.get_by_role("button", name="Verify now").click()
    expect(dialog.get_by_role("alert")).to_contain_text("What was seen.")
    proofs[0] = True
    dialog.get_by_role("button", name="Verify now").click()
    said(desk, "go.example is verified.")
    expect(row.get_by_text("Verified", exact=True)).to_be_visible()
    session.rollback()
    assert session.query(Domain).one().is_verified


def test_a_code_is_drawn_as_chosen_and_read_back(
    desk: Page, alice: User, factory: Any, site: str, tmp_path: Path
) -> None:
    """A QR reader decodes a screenshot of the SVG as Chromium draws it."""
    factory.link(alice, "one")
    Image.new("RGB", (64, 64), "#c92a2a").save(tmp_path / "logo.png")
    desk.reload()
    desk.get_by_role("link", name="More for 127").click()
    desk.locator("#row-menu").get_by_role("link", name="QR code").click()
    dialog = desk.get_by_role("dialog")
    picture = dialog.get_by_role("img", name="QR code for")
    expect(picture).to_be_visible()
    assert read(picture) == f"{site}/one"
    dialog.get_by_label("Colour").fill("#dddddd")
    expect(dialog.get_by_text("These colours are too similar")).to_be_visible()
    dialog.get_by_label("Colour").fill("#0b7285")
    dialog.get_by_label("Logo in the middle").set_input_files(tmp_path / "logo.png")
    expect(dialog.get_by_text("These colours are too similar")).to_be_hidden()
    dialog.get_by_label("Size").select_option("512")
    png = dialog.get_by_role("link", name="PNG")
    wait_for(lambda: size_of(png) == (512, 512), "a picture of the size that was chosen")
    with desk.expect_download() as download:
        png.click()
    image = Image.open(download.value.path()).convert("RGB")
    assert image.size == (512, 512)
    assert image.getpixel((256, 256)) == (201, 42, 42)
    assert [found.text for found in zxingcpp.read_barcodes(image)] == [f"{site}/one"]
    assert read(picture) == f"{site}/one"


def size_of(png: Any) -> tuple[int, int]:
    content = png.get_attribute("href").partition(",")[2]
    return Image.open(io.BytesIO(base64.b64decode(content))).size


def read(picture: Any) -> str:
    shown = Image.open(io.BytesIO(picture.screenshot())).convert("RGB")
    return str(zxingcpp.read_barcodes(shown)[0].text)
