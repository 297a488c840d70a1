"""The id of a machine among those that share a database: one for each data directory."""

from __future__ import annotations

import secrets
from contextlib import suppress
from functools import lru_cache
from pathlib import Path

from app.core.durable_files import create_file

FILE = "machine.id"
ID_BYTES = 8


@lru_cache(maxsize=8)
def machine_id(data_dir: Path) -> str:
    """The id, made with the first call. It is in no backup: a restored instance is another machine."""
    path = data_dir / FILE
    with suppress(FileNotFoundError):
        return path.read_text(encoding="ascii").strip()
    create_file(path, secrets.token_hex(ID_BYTES).encode("ascii"))
    return path.read_text(encoding="ascii").strip()
