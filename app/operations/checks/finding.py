"""What did a look at one thing find, and what is to be done about it?"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from app.config import Settings

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """`detail` says what is, `advice` what to do; a problem is what does not work, or will not for long."""

    level: Level
    detail: str
    advice: str = ""


def ok(detail: str) -> Finding:
    return Finding("ok", detail)


def warning(detail: str, advice: str) -> Finding:
    return Finding("warning", detail, advice)


def problem(detail: str, advice: str) -> Finding:
    return Finding("problem", detail, advice)


Check = Callable[[Settings], Iterable[Finding]]


def plural(number: int, one: str) -> str:
    return f"{number:,} {one}" if number == 1 else f"{number:,} {one}s"
