"""Compression of pages: for requests from the dashboard itself, never for those from other sites."""

from __future__ import annotations

import gzip

import pytest
from flask import Flask

from app.dashboard.shared.page_headers import FILLER, packed
from tests.dashboard.conftest import Desk

ZIPPED = {"Accept-Encoding": "gzip, deflate, br"}
HTTPS = pytest.mark.settings(BASE_URL="https://go.example")


def is_zipped(desk: Desk, path: str = "/account/", **headers: str) -> bool:
    answer = desk.get(
        path, headers={**ZIPPED, **{name.replace("_", "-"): said for name, said in headers.items()}}
    )
    assert answer.status_code == 200
    found = answer.headers.get("Content-Encoding") == "gzip"
    content = gzip.decompress(answer.data) if found else answer.data
    assert answer.headers["Content-Length"] == str(len(answer.data))
    assert content.rstrip().endswith(b"</html>")
    return found


ASKED: dict[str, tuple[dict[str, str], bool]] = {
    "by itself": ({"Sec_Fetch_Site": "same-origin"}, True),
    "by hand": ({"Sec_Fetch_Site": "none"}, True),
    "by another site": ({"Sec_Fetch_Site": "cross-site"}, False),
    "by a neighbour": ({"Sec_Fetch_Site": "same-site"}, False),
    "by itself, for a browser that can't": (
        {"Sec_Fetch_Site": "same-origin", "Accept_Encoding": "br"},
        False,
    ),
    "by itself, for a browser that won't": ({"Sec_Fetch_Site": "none", "Accept_Encoding": "gzip;q=0"}, False),
}


@pytest.mark.parametrize("name", ASKED)
def test_who_asks(desk: Desk, name: str) -> None:
    headers, wanted = ASKED[name]
    assert is_zipped(desk, **headers) == wanted


def test_a_browser_that_does_not_say(desk: Desk) -> None:
    """Browsers send no Sec-Fetch-Site over plain HTTP. There an eavesdropper reads the page anyway."""
    assert is_zipped(desk)


@HTTPS
def test_a_browser_that_does_not_say_over_https(app: Flask, desk: Desk) -> None:
    assert not is_zipped(desk)
    assert is_zipped(desk, Sec_Fetch_Site="none")


@pytest.mark.parametrize("path", ["/links/export.csv", "/links/export.json"])
def test_other_things_go_as_they_are(desk: Desk, path: str) -> None:
    answer = desk.get(path, headers=ZIPPED)
    assert answer.status_code == 200
    assert "Content-Encoding" not in answer.headers


def test_the_length_says_little() -> None:
    lengths = {len(packed(b"<!doctype html>" * 100)) for _ in range(400)}
    assert FILLER // 2 < len(lengths) <= FILLER + 1
