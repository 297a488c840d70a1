"""What a row of known apps says, and the patterns that its rows are made of."""

from __future__ import annotations

import re
from typing import NamedTuple

UNIVERSAL = "https://{rest}"
ANY = r"/.+"
END = r"/?(?:\?.*)?"  # nothing more but a query
NAME = r"(?P<name>[A-Za-z0-9_.]+)"


def one_of(endings: str) -> str:
    return f"(?:{'|'.join(map(re.escape, endings.split()))})"


def but(words: str) -> str:
    """A pattern: the first part of the path is none of these words."""
    return rf"(?!(?:{words})(?:[/?]|$))"


class App(NamedTuple):
    """One app. `hosts` and the targets (path and query, percent-encoded) are patterns for the whole text.

    Each target is paired with the address for iOS, None if there is none. It may use the pattern's named
    groups, `rest` for all after the scheme, `target` for path and query, and `encoded` for the whole address
    as a parameter. No `package`: not on Android.
    """

    name: str
    hosts: str
    package: str | None
    targets: tuple[tuple[str, str | None], ...] = ((ANY, UNIVERSAL),)
