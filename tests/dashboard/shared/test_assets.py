"""Static files: vendored as published, all used, served compressed, and cached for ever."""

from __future__ import annotations

import gzip
import hashlib
import re
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app.core.folders import ROOT
from app.dashboard.shared.assets import without_comments
from scripts.shrink_world import shrunken

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
