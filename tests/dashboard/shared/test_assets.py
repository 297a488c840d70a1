"""What a page loads: static files as published and kept for ever, compressed pages, and at most 150 kB."""

from __future__ import annotations

import gzip
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urljoin

import pytest
from flask import Flask
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from app.accounts.models import User
from app.core.folders import ROOT
from app.dashboard.shared.assets import without_comments
from app.dashboard.shared.page_headers import FILLER, packed
from app.dashboard.shared.rendering import FOR_ADMINS, NAVIGATION
from scripts.shrink_world import shrunken
from tests.dashboard.conftest import HTMX, Desk
from tests.factories import Factory
from tests.past import Past

VENDOR = ROOT / "app" / "static" / "vendor"
SPRITE = ROOT / "app" / "templates" / "_icons.svg"
LISTED = re.compile(r"^\| `(?P<file>[^`]+)` \| .*`(?P<hash>[0-9a-f]{64})` \|$", re.MULTILINE)


def address(client: FlaskClient, name: str) -> str:
    found = re.search(rf'"(/static/[0-9a-f]{{12}}/{re.escape(name)})"', client.get("/login").text)
    assert found
    return found[1]


def test_vendored_files_are_as_published() -> None:
    listed = {row["file"]: row["hash"] for row in LISTED.finditer((VENDOR / "LIST.md").read_text())}
    there = {path.name for path in VENDOR.iterdir() if path.suffix not in {".md", ".LICENSE"}}
    assert set(listed) == there
    assert {name: hashlib.sha256((VENDOR / name).read_bytes()).hexdigest() for name in there} == listed


# of the published map: a country, and an island that is smaller than three units across
PUBLISHED = (
    (
        "M429.29,144.05l1.91,0.24l2.1,-0.63l2.63,1.99l-0.21,1.66l-0.69,0.4l-0.18,1.2l-1.66,-1.13l-1.39,0.15"
        "l-2.73,-2.7l-1.17,-0.18l-0.16,-0.52l1.54,-0.5Z"
    ),
    "M707.48,273.58l0.68,-0.65l1.41,-0.91l-0.15,1.63l-0.81,-0.05l-0.61,0.58l-0.53,-0.6Z",
)


def test_the_world_is_made_of_the_published_one() -> None:
    world = (VENDOR / "jsvectormap-world.js").read_text()
    for path in PUBLISHED:
        assert shrunken(f'path:"{path}"').removeprefix('path:"').removesuffix('"') in world
    assert shrunken('path:"M1.04,2l0.02,0.01l0.9,-3.1ZM0,0l9,0l-9.04,1Z"') == (
        'path:"M1 2l.1 0 .9-3.1zM0 0l9 0-9 1z"'
    )


def test_every_icon_is_used_and_every_used_one_is_there() -> None:
    templates = [path.read_text() for path in (ROOT / "app" / "templates").rglob("*.html")]
    folders = [ROOT / "app" / "dashboard", ROOT / "app" / "notifications"]
    code = "\n".join([*templates, *(path.read_text() for folder in folders for path in folder.rglob("*.py"))])
    for name in re.findall(r'id="icon-([a-z0-9-]+)"', SPRITE.read_text()):
        assert f'"{name}"' in code, name
    there = set(re.findall(r'id="icon-([a-z0-9-]+)"', SPRITE.read_text()))
    assert set(re.findall(r'icon\("([a-z0-9-]+)"', code)) <= there


@pytest.mark.parametrize("name", ["app.css", "icon.svg"])
def test_kept_for_ever_under_a_name_that_changes(client: FlaskClient, name: str) -> None:
    answer = client.get(address(client, name))
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert answer.data == without_comments(ROOT / "app" / "static" / name)


def test_sent_compressed_to_who_takes_it(client: FlaskClient) -> None:
    answer = client.get(address(client, "app.css"), headers={"Accept-Encoding": "br, gzip"})
    assert answer.headers["Content-Encoding"] == "gzip"
    assert "Accept-Encoding" in answer.headers["Vary"]
    assert gzip.decompress(answer.data) == without_comments(ROOT / "app" / "static" / "app.css")


SENT = {
    "a comment over two lines of a style": (
        "a.css",
        "a { /* why\n so */ top: 0 }\nb {}",
        "a { \n top: 0 }\nb {}",
    ),
    "an address in a style": (
        "a.css",
        'a { background: url("https://a/*b") }',
        'a { background: url("https://a/*b") }',
    ),
    "lines of a script": ("a.js", "// why\n  // so\ncall();", "\n\ncall();"),
    "an address in a script": ("a.js", 'go("https://a/b"); // soon', 'go("https://a/b"); // soon'),
    "another kind of file": ("a.svg", "// <svg/> /* */", "// <svg/> /* */"),
    "another project's file": ("vendor/a.js", "// licence\ncall();", "// licence\ncall();"),
}


@pytest.mark.parametrize(("name", "content", "sent"), SENT.values(), ids=SENT)
def test_our_own_are_sent_without_comments(name: str, content: str, sent: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_text(content)
    assert without_comments(path).decode() == sent


def test_no_text_of_a_script_begins_a_line_as_a_comment_does() -> None:
    for path in (ROOT / "app" / "static").glob("*.js"):
        for before in re.split(r"^[ \t]*//.*$", path.read_text(), flags=re.MULTILINE):
            assert before.count("`") % 2 == 0, path.name  # no template literal is open there


def test_another_version_is_not_kept(client: FlaskClient) -> None:
    assert client.get("/static/000000000000/app.css").headers["Cache-Control"] == "no-store"


@pytest.mark.parametrize("path", ["vendor/LIST.md", "../config.py", "nothing.css"])
def test_nothing_else_is_given_out(client: FlaskClient, path: str) -> None:
    assert client.get(f"/static/000000000000/{path}").status_code == 404


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


MOST = 150_000
AS_A_BROWSER = {"Accept-Encoding": "gzip", "Sec-Fetch-Site": "none"}
STATIC = re.compile(r"/static/[0-9a-f]{12}/[\w./-]+")
IMPORTED = re.compile(r'@import url\("([^"]+)"\)')
PART = re.compile(r'data-part>\s*<div hx-get="([^"]+)"')

PAGES = {
    **{place.title: f"/{place.name}/" for place in (*NAVIGATION, *FOR_ADMINS)},
    "the form of a link": "/links/1",
    "the statistics of a link": "/links/1/statistics/",
    "who would go where": "/links/1/try",
    "the QR code of a link": "/links/1/qr",
}


def load(desk: Desk, path: str, **headers: str) -> TestResponse:
    answer = desk.client.get(path, headers={**AS_A_BROWSER, **headers})
    assert answer.status_code == 200, path
    return answer


def weight(answer: TestResponse) -> int:
    """The bytes of the response as it is sent, headers included."""
    return len(answer.data) + sum(len(f"{name}: {value}\r\n") for name, value in answer.headers)


def named(desk: Desk, path: str) -> Iterator[tuple[str, int]]:
    """Every request that a browser makes to open a page, with the size of its response."""
    answer = load(desk, path)
    text = desk.client.get(path).text
    yield path, weight(answer)
    for address in sorted(set(STATIC.findall(text))):
        yield address, weight(load(desk, address))
        if address.endswith(".css"):
            imported = IMPORTED.findall(desk.client.get(address).text)
            assert all(urljoin(address, other) in text for other in imported), "it would come late"
    for part in PART.findall(text):
        address = part.replace("&amp;", "&")
        yield address, weight(load(desk, address, **HTMX))


@pytest.fixture
def full(alice: User, factory: Factory, past: Past) -> None:
    """A full page of links with long rows, and rows in every other list."""
    project, pixel = factory.project(alice, name="Spring & more"), factory.pixel(alice, name="Retargeting")
    factory.domain(alice)
    factory.handler(alice)
    alice.is_admin = True
    for number in range(25):
        link = factory.link(
            alice,
            f"an-alias-of-some-length-{number}",
            title=f"A link of a usual length, which says what it is for, {number}",
            location_url=f"https://example.com/{number}/{'a-long-address/' * 8}?campaign=spring",
            tags=("spring", f"letter {number}", "sale"),
            project_id=project.id,
            sensitive_content=True,
            clicks_limit=1_000,
        )
        link.pixels = [pixel]
    factory.session.commit()


@pytest.mark.usefixtures("full")
def test_first_load_of_every_page(desk: Desk) -> None:
    found = {name: dict(named(desk, f"/dashboard{path}")) for name, path in PAGES.items()}
    assert {name: sizes for name, sizes in found.items() if sum(sizes.values()) > MOST} == {}
    assert len(found["Links"]) > 8  # the page, its styles and its scripts
    drawn = {address.rpartition("/")[2] for address in found["the statistics of a link"]}
    assert {"jsvectormap-world.js", "uplot.iife.min.js"} < drawn
    assert sum("statistics/map" in address for address in found["the statistics of a link"]) == 1
