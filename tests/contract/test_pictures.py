"""Section 2: which pictures a cloaked page may have, and how they are stored."""

from __future__ import annotations

import io
from typing import Any

import pytest
import requests
from PIL import Image, PngImagePlugin

from tests.contract.client import Client, fields

SAID = "where it was taken"
KINDS = ("PNG", "JPEG", "GIF", "WEBP")


def drawn(kind: str, size: tuple[int, int] = (48, 48), **options: Any) -> bytes:
    found = io.BytesIO()
    Image.new("L" if kind != "GIF" else "P", size).save(found, kind, **options)
    return found.getvalue()


def put(api: Client, link: int, name: str, content: bytes) -> requests.Response:
    """Uploads a picture under a file name that says nothing about its type."""
    return api.call("POST", f"/links/{link}", files={name: ("secret-plan.bin", content)})


@pytest.mark.parametrize(
    ("name", "kinds"), [("cloaking_favicon", (*KINDS, "ICO")), ("cloaking_opengraph", KINDS)]
)
def test_each_kind(api: Client, name: str, kinds: tuple[str, ...]) -> None:
    link = api.link()
    seen = set()
    for kind in kinds:
        assert put(api, link, name, drawn(kind)).status_code == 200, kind
        address = api.data(f"/links/{link}")[name]
        answer = api.session.get(address, timeout=90)
        assert answer.headers["Content-Type"].startswith("image/"), kind
        assert Image.open(io.BytesIO(answer.content)).size == (48, 48), kind
        assert "secret-plan" not in address
        seen.add(address)
    assert len(seen) == len(kinds)


def test_an_icon_is_for_tabs_alone(api: Client) -> None:
    assert fields(put(api, api.link(), "cloaking_opengraph", drawn("ICO"))) == {"cloaking_opengraph"}


def test_nothing_of_what_was_written_beside_it_is_kept(api: Client) -> None:
    beside = PngImagePlugin.PngInfo()
    beside.add_text("Comment", SAID)
    exif = Image.Exif()
    exif[0x010E] = SAID
    link = api.link()
    for content in (drawn("PNG", pnginfo=beside), drawn("JPEG", exif=exif), drawn("PNG") + SAID.encode()):
        assert SAID.encode() in content
        assert put(api, link, "cloaking_opengraph", content).status_code == 200
        kept = api.session.get(api.data(f"/links/{link}")["cloaking_opengraph"], timeout=90).content
        assert SAID.encode() not in kept


def test_more_than_twenty_megapixels_are_too_many(api: Client) -> None:
    """The limit holds however few bytes the file has."""
    large = drawn("PNG", (5001, 4000))
    assert len(large) < 512 * 1024
    for name in ("cloaking_favicon", "cloaking_opengraph"):
        answer = put(api, api.link(), name, large)
        assert fields(answer) == {name}
        assert "20 megapixels" in answer.json()["message"]
