"""The documentation as a site: each page is in it, links hold, and it asks no other site for anything."""

from __future__ import annotations

import html.parser
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from app.core.folders import ROOT
from scripts import docs_site
from tests.docs.pages import DOCS

CONFIG = (ROOT / "mkdocs.yml").read_text()
MKDOCS = os.environ.get("MKDOCS") or (
    shutil.which("mkdocs", path=str(Path(sys.executable).parent))
    if importlib.util.find_spec("mkdocs") and importlib.util.find_spec("material")
    else None
)
LOADS = {"script": "src", "img": "src", "iframe": "src", "link": "href", "source": "src"}


def test_every_page_has_a_place_in_the_navigation() -> None:
    named = set(re.findall(r"^\s+- (\S+\.md)$", CONFIG, re.MULTILINE))
    pages = {path.name for path in DOCS.glob("*.md")}
    assert sorted(pages - named) == []
    assert (
        sorted(each for each in named if not (DOCS / each).exists() and each not in docs_site.FROM_ROOT) == []
    )


LINKS = {
    ("operate.md", "[a](backups.md#x)"): "[a](backups.md#x)",
    ("install.md", "[a](../README.md#settings)"): "[a](configure.md)",
    ("security/authorization.md", "[a](../operate.md)"): "[a](../operate.md)",
    ("README.md", "[a](../SECURITY.md)"): "[a](SECURITY.md)",
    ("decisions/README.md", "[a](../../CONTRIBUTING.md#tests)"): "[a](../CONTRIBUTING.md#tests)",
    ("CONTRIBUTING.md", "[a](docs/decisions/README.md)"): "[a](decisions/README.md)",
    ("use.md", "![a](images/links.png)"): "![a](images/links.png)",
    ("use.md", "[a](https://example.com/README.md)"): "[a](https://example.com/README.md)",
}


@pytest.mark.parametrize(("source", "written"), LINKS, ids=[f"{source} {text}" for source, text in LINKS])
def test_a_link_leads_to_a_page_of_the_site(source: str, written: str) -> None:
    assert docs_site.fit_links(written, source) == LINKS[source, written]


LISTS = {
    "after a paragraph": ("text\n- a\n- b", "text\n\n- a\n- b"),
    "a block in an item": ("1. a\n\n   ```sh\n   b\n   ```\n\nc", "1. a\n\n    ```sh\n    b\n    ```\n\nc"),
    "two levels": ("- a\n  - b\n- c", "- a\n    - b\n- c"),
    "what looks like a list in a block": ("```\na\n- b\n```", "```\na\n- b\n```"),
    "a paragraph after it": ("- a\n\nb", "- a\n\nb"),
}


@pytest.mark.parametrize(("written", "wanted"), LISTS.values(), ids=LISTS)
def test_a_list_is_indented_for_the_site(written: str, wanted: str) -> None:
    assert docs_site.fit_lists(written) == wanted


class Loaded(html.parser.HTMLParser):
    """What a page loads by itself, and the address of each of its links."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        found = dict(attributes)
        if tag == "link" and found.get("rel") not in {"stylesheet", "icon", "preload", "preconnect", None}:
            return  # the canonical address, and the neighbours: a browser fetches none of these
        self.loaded += [found.get(LOADS.get(tag, "")) or ""]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not MKDOCS:
        pytest.skip("no mkdocs with mkdocs-material here to build it")
    folder = tmp_path_factory.mktemp("site")
    environ: dict[str, Any] = os.environ | {"PYTHONPATH": str(ROOT), "NO_MKDOCS_2_WARNING": "1"}
    command = [MKDOCS, "build", "--strict", "--quiet", "--site-dir", str(folder)]
    done = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder


@pytest.mark.full
def test_it_builds_strictly_with_every_page(site: Path) -> None:
    made = {path.name for path in site.glob("*.html")}
    assert {f"{path.stem}.html" for path in DOCS.glob("[a-z]*.md")} <= made
    assert {"index.html", "SECURITY.html", "CONTRIBUTING.html"} <= made


@pytest.mark.full
def test_it_asks_no_other_site_for_anything(site: Path) -> None:
    for path in site.rglob("*.html"):
        page = Loaded()
        page.feed(path.read_text())
        assert [each for each in page.loaded if re.match(r"(https?:)?//", each)] == [], path
    for path in site.rglob("*.css"):
        assert not re.search(r"url\(\s*[\"']?(https?:)?//", path.read_text()), path
