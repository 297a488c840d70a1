"""QR codes: each look is read back as the short link, in the API and on the page."""

from __future__ import annotations

import io
import re
from itertools import cycle
from typing import Any

import pytest
import zxingcpp
from PIL import Image, ImageDraw

from app.input.parsers import Rejected
from app.links.qr import Look, contrast, draw, render_png, render_svg, warning
from tests.links.pictures import picture

SHORT = "https://go.example/abcdefg"
LONG = "https://links.example/" + "%F0%9F%A6%8A" * 20


def logo(color: str = "#c92a2a") -> bytes:
    found = io.BytesIO()
    Image.new("RGBA", (300, 200), color).save(found, "PNG")
    return found.getvalue()


def read(image: Image.Image) -> list[str]:
    return [found.text for found in zxingcpp.read_barcodes(image.convert("RGB"))]


def opened(content: bytes) -> Image.Image:
    return Image.open(io.BytesIO(content))


def rasterised(content: bytes) -> Image.Image:
    """An SVG of ours as an image, drawn from its elements: rectangles of one colour on another."""
    text = content.decode()
    size = int(re.search(r'<svg [^>]*width="(\d+)"', text)[1])
    light, dark = re.findall(r'<path fill="(#\w{6})"', text)
    start, scale = map(int, re.search(r"translate\((\d+) \d+\) scale\((\d+)\)", text).groups())
    image = Image.new("RGB", (size, size), light)
    pen = ImageDraw.Draw(image)
    for x, y, wide in re.findall(r"M(\d+) (\d+)h(\d+)v1h-\d+z", text):
        left, top = start + int(x) * scale, start + int(y) * scale
        pen.rectangle((left, top, left + int(wide) * scale - 1, top + scale - 1), fill=dark)
    return image


LOOKS = {
    "usual": Look(),
    "smallest": Look(size=128),
    "largest": Look(size=2048),
    "no margin": Look(margin=0),
    "wide margin": Look(size=1024, margin=16),
    "colours": Look(dark="#862e9c", light="#fff3bf"),
    "light on dark": Look(dark="#ffffff", light="#14191a"),
}


@pytest.mark.parametrize(("name", "text"), [*zip(LOOKS, cycle([SHORT, LONG]), strict=False)])
def test_each_look_is_read_back(name: str, text: str) -> None:
    look = LOOKS[name]
    drawing = draw(text, look)
    for image in (opened(render_png(drawing)), rasterised(render_svg(drawing))):
        assert image.size == (look.size, look.size)
        assert read(image) == [text]
        colors = {color for _, color in image.convert("RGB").getcolors()}
        assert colors == {Image.new("RGB", (1, 1), one).getpixel((0, 0)) for one in (look.dark, look.light)}


@pytest.mark.parametrize(("size", "text"), [(256, SHORT), (512, LONG), (2048, SHORT)])
def test_with_a_logo(size: int, text: str) -> None:
    content = render_png(draw(text, Look(size=size, logo=logo())))
    image = opened(content).convert("RGB")
    assert read(image) == [text]
    assert image.getpixel((size // 2, size // 2)) == (201, 42, 42)
    drawn = render_svg(draw(text, Look(size=size, logo=logo()))).decode()
    assert re.search(
        r'<image x="[\d.]+" y="[\d.]+" width="[\d.]+" height="[\d.]+" href="data:image/png;base64,', drawn
    )


def test_a_margin_is_so_many_modules() -> None:
    for margin in (0, 4, 16):
        drawing = draw(SHORT, Look(size=1024, margin=margin))
        assert drawing.start >= margin * drawing.scale
        assert opened(render_png(drawing)).convert("L").getpixel((drawing.start, drawing.start)) == 0
        if drawing.start:
            assert (
                opened(render_png(drawing)).convert("L").getpixel((drawing.start - 1, drawing.start)) == 255
            )


def test_what_can_not_be_drawn() -> None:
    with pytest.raises(Rejected) as caught:
        draw(LONG * 3, Look(size=128, margin=16, logo=logo()))
    assert (caught.value.args[0].field, caught.value.args[0].code) == ("size", "range")
    with pytest.raises(Rejected) as caught:
        draw("https://go.example/" + "x" * 4000, Look())
    assert caught.value.args[0].code == "too_long"


WARNINGS = [
    (Look(), None),
    (Look(dark="#862e9c", light="#fff3bf"), None),
    (Look(dark="#cccccc"), "too similar"),
    (Look(dark="#ff0000", light="#00aa00"), "too similar"),
    (Look(dark="#ffffff", light="#000000"), "light on dark"),
    (Look(margin=2), "margin"),
]


@pytest.mark.parametrize(("look", "part"), WARNINGS)
def test_what_is_hard_to_read_is_said(look: Look, part: str | None) -> None:
    assert (part or "") in (warning(look) or "")
    assert (warning(look) is None) == (part is None)


def test_contrast_is_that_of_the_guidelines() -> None:
    assert round(contrast("#000000", "#ffffff"), 2) == 21
    assert round(contrast("#ffffff", "#777777"), 2) == 4.48
    assert contrast("#123456", "#123456") == 1


# --- over the API and on the page


def test_the_page_draws_what_was_chosen(client: Any, alice: Any, make_link: Any) -> None:
    import base64

    from tests.dashboard.conftest import HTMX, Desk

    desk = Desk(client, alice.email).sign_in()
    link = make_link(alice, "abc")
    path = f"/links/{link.id}/qr"
    assert "data:image/png;base64," in desk.get(path).text
    sent = {"dark": "#0b7285", "light": "#ffffff", "size": "256", "margin": "2"}
    upload = (io.BytesIO(picture("PNG")), "logo.png")
    answer = desk.post(path, {**sent, "logo": upload}, headers=HTMX)
    assert answer.status_code == 200
    assert "A margin below 4" in answer.text
    assert 'download="qr-localhost-abc.png"' in answer.text
    found = re.search(r'href="data:image/png;base64,([^"]+)"', answer.text)
    image = opened(base64.b64decode(found[1]))
    assert image.size == (256, 256)
    assert read(image) == ["http://localhost/abc"]
    wrong = desk.post(path, {**sent, "dark": "red", "logo": (io.BytesIO(b"<svg/>"), "a.svg")}, headers=HTMX)
    assert wrong.status_code == 422
    assert "Colour: This must be" in wrong.text
    assert "Logo: " in wrong.text
    assert desk.post(path, sent).text.startswith("\n<!doctype html>") or "<html" in desk.post(path, sent).text
