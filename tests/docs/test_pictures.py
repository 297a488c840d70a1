"""Pictures of the documentation: a script takes each, and each is shown where it says something."""

from __future__ import annotations

import re

import pytest
from PIL import Image

from app.core.folders import ROOT
from scripts import documentation_pictures
from scripts.picture_scenes import SCENES
from tests.docs.pages import DOCS

SHOWN = re.compile(r"!\[([^\]]*)\]\((?:docs/)?images/([\w-]+)\.png\)")
PAGES = [*DOCS.glob("*.md"), ROOT / "README.md"]
FOUND = [match for path in PAGES for match in SHOWN.findall(path.read_text())]
MAX_BYTES = 150 * 1024


def test_each_is_taken_by_the_script_and_shown() -> None:
    files = {path.stem for path in documentation_pictures.FOLDER.glob("*.png")}
    assert files == set(SCENES) == {name for _, name in FOUND}


@pytest.mark.parametrize(("text", "name"), FOUND, ids=[name for _, name in FOUND])
def test_it_has_a_text_a_size_and_few_bytes(text: str, name: str) -> None:
    path = documentation_pictures.FOLDER / f"{name}.png"
    assert len(text) > 5, "who can't see it needs words"
    with Image.open(path) as picture:
        size = documentation_pictures.PHONE_SIZE if SCENES[name].is_phone else documentation_pictures.SIZE
        assert picture.width == size["width"]
    assert path.stat().st_size < MAX_BYTES
