"""Colours: a form field, and the contrast of two of them by WCAG 2.2."""

from __future__ import annotations

from typing import Any

from app.i18n.messages import lazy_gettext as _l
from app.input.fields import PatternField


class ColorField(PatternField):
    """A colour as `#rrggbb`, kept in lower case."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(
            label, pattern="#[0-9A-Fa-f]{6}", problem=_l("This must be a colour like #4263eb."), **options
        )

    def parse(self, text: str) -> str:
        return super().parse(text).lower()


def channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def luminance(color: str) -> float:
    """The relative luminance of WCAG 2.2, from 0 for black to 1 for white."""
    red, green, blue = (linear(value / 255) for value in channels(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def contrast(one: str, other: str) -> float:
    """The contrast ratio of WCAG 2.2, from 1 for equal colours to 21."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
