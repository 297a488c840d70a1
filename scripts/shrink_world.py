"""Shrinks the published map of the world to the one that is vendored.

    npm pack jsvectormap@1.7.0 && tar xzf jsvectormap-1.7.0.tgz
    python -m scripts.shrink_world package/dist/maps/world.js > app/static/vendor/jsvectormap-world.js

Each corner is put on a grid of a tenth of the map's units (islands that are smaller than three of them: a
hundredth) and the way from one to the next is written in as few characters as SVG takes. A third of the file
goes; at the size that the dashboard draws it nothing else can be told apart.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

SMALL = 3  # units across: of these the grid is finer
GRID, FINE = 10, 100  # parts of a unit
PATH = re.compile(r'(?<=path:")[^"]+')
PART = re.compile(r"M[^M]+")
NUMBER = re.compile(r"-?\d+(?:\.\d+)?")

Corner = tuple[float, float]


def shrunken(world: str) -> str:
    """The same file with shorter paths."""
    return PATH.sub(lambda path: PART.sub(lambda part: short(corners(part[0])), path[0]), world)


def corners(part: str) -> list[Corner]:
    """Where a part of a path (`Mx,yldx,dyl…Z`) leads, one after the other."""
    numbers = [float(number) for number in NUMBER.findall(part)]
    found, x, y = [], 0.0, 0.0
    for dx, dy in zip(numbers[::2], numbers[1::2], strict=True):
        x, y = x + dx, y + dy
        found.append((x, y))
    return found


def short(path: list[Corner]) -> str:
    """On the grid, without corners that fall together; rounding each place keeps errors from adding up."""
    grid = FINE if max(map(extent, zip(*path, strict=True))) < SMALL else GRID
    steps: list[tuple[int, int]] = []
    before = (0, 0)
    for x, y in path:
        here = round(x * grid), round(y * grid)
        if here != before or not steps:
            steps.append((here[0] - before[0], here[1] - before[1]))
        before = here
    first, *others = [pair(step, grid) for step in steps]
    return f"M{first}l{joined(others)}z"


def extent(values: tuple[float, ...]) -> float:
    return max(values) - min(values)


def pair(step: tuple[int, int], grid: int) -> str:
    return joined([written(part, grid) for part in step])


def joined(parts: list[str]) -> str:
    """A minus sign is as good as a space."""
    return " ".join(parts).replace(" -", "-")


def written(parts: int, grid: int) -> str:
    """`-5` of tenths as `-.5`."""
    whole, rest = divmod(abs(parts), grid)
    digits = f"{rest:0{len(str(grid)) - 1}}".rstrip("0")
    text = f"{whole or ''}.{digits}" if digits else f"{whole}"
    return f"-{text}" if parts < 0 else text


if __name__ == "__main__":
    sys.stdout.write(shrunken(Path(sys.argv[1]).read_text(encoding="utf-8")))
