"""How is a colour read, and how well do two of them stand apart?"""

from __future__ import annotations

from typing import Any

from app.fields import PatternField


class ColorField(PatternField):
    """A colour as `#rrggbb`, kept in lower case."""

    def __init__(self, label: str = "", **options: Any) -> None:
        super().__init__(label, pattern="#[0-9A-Fa-f]{6}", hint="a colour like #4263eb", **options)

    def parse(self, text: str) -> str:
        return super().parse(text).lower()


def channels(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def luminance(color: str) -> float:
    """From 0, black, to 1, white: WCAG 2.2, "relative luminance"."""
    red, green, blue = (linear(value / 255) for value in channels(color))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def linear(value: float) -> float:
    return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4


def contrast(one: str, other: str) -> float:
    """From 1, the same, to 21: WCAG 2.2, "contrast ratio"."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)
