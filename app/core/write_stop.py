"""Write stop: a database refuses every change while it is copied to another one, and after that.

Triggers refuse the changes, so that no process and no machine can miss it; redirects and the journal go on. A
file in the data directory says so to people and to the worker, which pauses. It names the database: once the
settings name another one, it means nothing.
"""

# see docs/decisions/2026-11-25-moving-to-another-database.md
from __future__ import annotations

import hashlib
import json
from contextlib import suppress
from enum import Enum
from pathlib import Path
from typing import NamedTuple

from sqlalchemy import Engine, event, make_url
from sqlalchemy.engine import ExceptionContext
from sqlalchemy.exc import OperationalError

from app.core.config import Settings
from app.core.durable_files import remove_file, replace_file

FILE = "database-copy.json"
REFUSAL = "this database takes no changes: it is copied to another one"
RETRY_SECONDS = 30


class Phase(Enum):
    """How far a copy is. Changes are refused in the last two."""

    COPYING = "copying"
    READ_ONLY = "read-only"
    COMPLETE = "complete"


class CopyState(NamedTuple):
    """The copy that is under way, or complete. `target`: its address without the password."""

    phase: Phase
    target: str

    @property
    def is_read_only(self) -> bool:
        return self.phase is not Phase.COPYING


def identify(database_url: str) -> str:
    """A digest of the database's address, without its password."""
    named = make_url(database_url).set(password=None).render_as_string()
    return hashlib.sha256(named.encode()).hexdigest()[:16]


def read_state(settings: Settings) -> CopyState | None:
    """The copy of the database in force; None where there is none."""
    path = path_of(settings)
    if not path.exists():  # nearly always, and an idle worker asks five times a second
        return None
    with suppress(FileNotFoundError, ValueError, KeyError):  # a power cut may leave half of the file
        found = json.loads(path.read_text(encoding="utf-8"))
        if found["database"] == identify(settings.database_url):
            return CopyState(Phase(found["phase"]), str(found["target"]))
    return None


def is_stopped(settings: Settings) -> bool:
    """Whether changes are refused."""
    found = read_state(settings)
    return found is not None and found.is_read_only


def write_state(settings: Settings, state: CopyState) -> None:
    found = {
        "database": identify(settings.database_url),
        "phase": state.phase.value,
        "target": state.target,
    }
    replace_file(path_of(settings), json.dumps(found).encode())


def remove_state(settings: Settings) -> None:
    remove_file(path_of(settings))


def path_of(settings: Settings) -> Path:
    return settings.data_dir / FILE


def is_refusal(error: BaseException) -> bool:
    """Whether a database refused a change because of a write stop."""
    return isinstance(error, OperationalError) and REFUSAL in str(error.orig)


def translate_refusals(engine: Engine) -> None:
    """Has refusals raised as OperationalError: drivers have other classes, such as that of a taken alias."""

    @event.listens_for(engine, "handle_error", retval=True)
    def translate(context: ExceptionContext) -> OperationalError | None:
        error = context.original_exception
        if REFUSAL not in str(error):
            return None
        return OperationalError(context.statement, None, error, hide_parameters=True)
