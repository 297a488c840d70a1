"""Draws the icons of the installed dashboard from app/static/icon.svg: `python -m scripts.app_icons`

It needs Chromium. The maskable one has its sign inside the safe zone, 80 % of the width, and a background
to every edge: phones cut circles and squares of their own out of it. Apple's cuts its corners, too, and
knows no transparency.
"""

from __future__ import annotations

import io
import re
from typing import NamedTuple

from PIL import Image
from playwright.sync_api import sync_playwright

from app.core.folders import ROOT
from scripts.documentation_pictures import find_chromium

STATIC = ROOT / "app" / "static"
ROUND = re.compile(r'(<rect width="32" height="32") rx="9"')
COLORS = 64  # one green, one white, and what lies between


class AppIcon(NamedTuple):
    """One picture. `scale`: of the sign on a background that fills the picture; None is the icon as it is."""

    size: int
    scale: float | None = None


ICONS = {
    "icon-180.png": AppIcon(180, 1),
    "icon-192.png": AppIcon(192),
    "icon-512.png": AppIcon(512),
    "icon-maskable-512.png": AppIcon(512, 0.8),
}


def drawing_of(icon: AppIcon, svg: str) -> str:
    if icon.scale is None:
        return svg
    offset = 16 * (1 - icon.scale)
    square = ROUND.sub(r"\1", svg)
    background, sign = square.split("/>", 1)
    placed = f'<g transform="translate({offset} {offset}) scale({icon.scale})">'
    return f"{background}/>{placed}{sign.replace('</svg>', '</g></svg>')}"


def main() -> None:
    svg = (STATIC / "icon.svg").read_text(encoding="utf-8")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_chromium())
        for name, icon in ICONS.items():
            page = browser.new_page(viewport={"width": icon.size, "height": icon.size})
            style = f"body {{ margin: 0 }} svg {{ display: block; width: {icon.size}px }}"
            page.set_content(f"<style>{style}</style>{drawing_of(icon, svg)}")
            drawn = Image.open(io.BytesIO(page.screenshot(omit_background=True)))
            method = Image.Quantize.FASTOCTREE  # the one that keeps transparency
            drawn.quantize(COLORS, method=method).save(STATIC / name, optimize=True)
        browser.close()


if __name__ == "__main__":
    main()
