"""Simulates full storage of a real server: Python loads this at the start of each of its processes."""

from __future__ import annotations

import os
import sqlite3
import sqlite3.dbapi2
from typing import Any

connected = sqlite3.connect


def connect(*args: Any, **options: Any) -> sqlite3.Connection:
    """Opens a database that can't grow beyond some pages: then SQLite fails as on a full disk."""
    connection: sqlite3.Connection = connected(*args, **options)
    connection.execute(f"PRAGMA max_page_count = {int(os.environ['NO_SPACE_PAGES'])}").close()
    return connection


sqlite3.connect = sqlite3.dbapi2.connect = connect
