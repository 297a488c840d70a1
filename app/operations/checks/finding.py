"""Findings of a check: what it has found, and what to do about it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from app.core.config import Settings

Level = Literal["ok", "warning", "problem"]


@dataclass(frozen=True)
class Finding:
    """One finding. `detail` says what is the case, `advice` what to do.

    A problem is something that does not work, or will soon stop working.
    """

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
