"""A QR code, as Chromium draws it, is read back."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import Any

import pytest
import zxingcpp
from PIL import Image
from playwright.sync_api import Page, expect

from app.accounts.models import User
from tests.server import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.full]


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
