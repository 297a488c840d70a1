"""How is the storage of a real server full? Python loads this at the start of each of its processes."""

from __future__ import annotations

import os
import sqlite3
import sqlite3.dbapi2
from typing import Any

connected = sqlite3.connect


def connect(*args: Any, **options: Any) -> sqlite3.Connection:
    """A database that can't grow beyond so many pages: then SQLite says what it says when a disk is full."""
    connection: sqlite3.Connection = connected(*args, **options)
    connection.execute(f"PRAGMA max_page_count = {int(os.environ['NO_SPACE_PAGES'])}").close()
    return connection


sqlite3.connect = sqlite3.dbapi2.connect = connect
