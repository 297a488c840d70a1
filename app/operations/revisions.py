"""Revisions of the tables that this version knows, by a look into the migrations' files.

Alembic would import all of them, in each process that is asked whether it is ready.
"""

# see docs/decisions/2026-11-25-idle.md
from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from app.core.extensions import migrate

# Alembic writes the other quotes into a new file
STATED = re.compile(r"""^(revision|down_revision) = (?:["'](\w+)["']|None)$""", re.MULTILINE)


@cache
def before_each() -> dict[str, str]:
    """Each revision, and the one before it; "" for the first. Cached: the files do not change meanwhile."""
    folder = Path(migrate.directory) / "versions"
    stated = [dict(STATED.findall(path.read_text(encoding="utf-8"))) for path in folder.glob("*.py")]
    return {each["revision"]: each["down_revision"] for each in stated}


def known_revisions() -> set[str]:
    return set(before_each())


def newest_revisions() -> set[str]:
    """Those that no other follows. There is one, unless developers have made two at the same time."""
    return known_revisions() - set(before_each().values())
