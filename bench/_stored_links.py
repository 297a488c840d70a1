"""What benchmarks with many links share: links stored by SQL, and the process that answers for them."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from tests.server import Server

LINKS = """
    WITH RECURSIVE number(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM number WHERE n + 1 < :links)
    INSERT INTO link (workspace_id, user_id, type, url, location_url, is_enabled, schedule, password_version,
        sensitive_content, http_status_code, app_linking_is_enabled, cloaking_is_enabled,
        forward_query_parameters_is_enabled, targeting, datetime)
    SELECT 1, 1, 'link', printf('k%07d', n), printf('https://example.com/page/%d?x=1', n), 1, 0, 0, 0, 302, 0,
        0, 0, '[]', '2026-01-01 00:00:00.000000' FROM number ORDER BY random()
"""
ALIASES = """
    INSERT INTO alias (domain_id, key, link_id, workspace_id)
    SELECT 0, url, id, workspace_id FROM link WHERE url GLOB 'k[0-9]*' ORDER BY url
"""


def chunks(links: int, size: int = 5000) -> Iterator[range]:
    return (range(first, min(first + size, links + 1)) for first in range(1, links + 1, size))


def store(path: Path, links: int) -> None:
    with closing(sqlite3.connect(path, timeout=60)) as connection, connection:
        connection.execute("PRAGMA cache_size = -2000000")
        connection.execute(LINKS, {"links": links})
        connection.execute(ALIASES)


def is_at_rest(server: Server) -> bool:
    """Whether the web process is idle."""
    before = spent(server)
    time.sleep(2)
    return spent(server) - before < 0.1


def spent(server: Server) -> float:
    """Processor seconds of the web process."""
    ticks = sum(int(number) for number in web_process(server).joinpath("stat").read_text().split()[13:15])
    return ticks / os.sysconf("SC_CLK_TCK")


def web_process(server: Server) -> Path:
    """The web process's directory in /proc."""
    assert server.process is not None
    children = Path(f"/proc/{server.process.pid}/task/{server.process.pid}/children").read_text().split()
    found = [Path("/proc") / child for child in children]
    return next(path for path in found if not is_worker(path))


def is_worker(process: Path) -> bool:
    """Whether a process, by its directory in `/proc`, is a worker: a fork of `serve`, or a program."""
    arguments = (process / "cmdline").read_bytes().split(b"\0")
    return "worker" in (process / "comm").read_text() or b"worker" in arguments
