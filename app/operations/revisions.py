"""Revisions of the tables that this version knows, by a look into the migrations' files.

Alembic would import all of them, in each process that is asked whether it is ready.
"""

# see docs/decisions/2026-11-25-idle.md, docs/decisions/2026-11-29-one-first-migration.md
from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from app.core.extensions import migrate

# Alembic writes the other quotes into a new file
STATED = re.compile(r"""^(revision|down_revision) = (?:["'](\w+)["']|None)$""", re.MULTILINE)
REPLACED = re.compile(r"^replaces = \{(.*?)\}", re.MULTILINE | re.DOTALL)


@cache
def read_migrations() -> list[str]:
    """The texts of the migrations' files. Cached: they do not change while a process runs."""
    return [path.read_text(encoding="utf-8") for path in Path(migrate.directory, "versions").glob("*.py")]


def before_each() -> dict[str, str]:
    """Each revision, and the one before it; "" for the first."""
    stated = [dict(STATED.findall(text)) for text in read_migrations()]
    return {each["revision"]: each["down_revision"] for each in stated}


def replaced_revisions() -> set[str]:
    """Those of before 1.0, which the first migration replaces: nothing leads from them to it."""
    named = "".join(names for text in read_migrations() for names in REPLACED.findall(text))
    return set(re.findall(r"\w+", named))


def known_revisions() -> set[str]:
    return set(before_each())


def newest_revisions() -> set[str]:
    """Those that no other follows. There is one, unless developers have made two at the same time."""
    return known_revisions() - set(before_each().values())


def describe_unknown(found: set[str]) -> str:
    """Why a database at these revisions can't be used by this version, and what to do; "" where it can."""
    if not (unknown := found - known_revisions()):
        return ""
    named = ", ".join(sorted(unknown))
    if unknown <= replaced_revisions():
        return (
            f"this database is of a Waypost from before 29 November 2026: it is at {named}."
            " Start the version of that day once (commit e7312065), which brings it up to date, then this one"
        )
    return f"a newer Waypost has written to this database: it is at {named}"
