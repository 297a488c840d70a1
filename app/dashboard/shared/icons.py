"""Icons as inline SVG.

Each drawing is written out where it is used. A reference (`<use>`) is half as long, but the browser then
builds a tree of its own for each, and a list of rows took a fifth longer to show.
"""

from __future__ import annotations

import re
from functools import cache

from flask import Flask
from markupsafe import Markup

from app.core.folders import ROOT

DRAWINGS = ROOT / "app" / "templates" / "_icons.svg"
ONE = re.compile(r'<symbol id="icon-([a-z0-9-]+)" viewBox="0 0 24 24">(.+)</symbol>')


def init_app(app: Flask) -> None:
    app.add_template_global(icon, "drawn_icon")


@cache
def icon(name: str, kind: str = "") -> Markup:
    """The icon of this name, with one more class; KeyError where there is none."""
    classes = f"icon {kind}" if kind else "icon"
    return Markup(f'<svg class="{classes}" viewBox="0 0 24 24" aria-hidden="true">{drawings()[name]}</svg>')  # noqa: S704  all of it is ours


@cache
def drawings() -> dict[str, str]:
    return dict(ONE.findall(DRAWINGS.read_text()))
