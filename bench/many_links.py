"""Redirects over a million links, compared with a thousand: `python -m bench.many_links`

The same service answers random aliases, in turn out of 1,000 and out of 1,000,000. Nearly each of the latter
is requested for the first time in a long while. First the service gets half a minute to read all links.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bench.redirects import Load, load, require_programs, running_server
from tests.crowds import Owner
from tests.server import BROWSER, Server, wait_for

RATIO, FEW = 0.6, 1_000
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
SCRIPT = """
local text = %s
math.randomseed(1)
function request()
    return string.format(text, math.random(0, %d))
end
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=5, help="of load for each in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--links", type=int, default=1_000_000)
    options = parser.parse_args()
    require_programs("wrk")
    with tempfile.TemporaryDirectory() as place, running_server(Path(place)) as server:
        Owner(server)
        store(server.data_dir / "main.db", options.links)
        wait_for(lambda: is_at_rest(server), "the end of reading")
        scripts = {count: script(Path(place), server.port, count) for count in (FEW, options.links)}
        load(server.url, 2, scripts[FEW])  # the first seconds are not measured
        found = [
            {count: load(server.url, options.seconds, path) for count, path in scripts.items()}
            for _ in range(options.rounds)
        ]
    report(found, options.links)


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


def script(directory: Path, port: int, count: int) -> Path:
    """A wrk script that requests a random one of the first `count` links."""
    text = f"GET /k%07d HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: {BROWSER}\r\n\r\n"
    path = directory / f"{count}.lua"
    path.write_text(SCRIPT % (json.dumps(text), count - 1))
    return path


def report(found: list[dict[int, Load]], links: int) -> None:
    for count in (FEW, links):
        rates = statistics.median(each[count].rate for each in found)
        p99 = statistics.median(each[count].p99_ms for each in found)
        print(f"{count:>10,} links {rates:>10,.0f} answers/s, p99 {p99:.1f} ms")
    ratio = statistics.median(each[links].rate / each[FEW].rate for each in found)
    print(f"ratio {ratio:.2f} (at least {RATIO}), medians of {len(found)}")
    if failed := sum(one.failed for each in found for one in each.values()):
        sys.exit(f"WRONG: {failed} answers failed")
    if ratio < RATIO:
        sys.exit("BELOW TARGET")


if __name__ == "__main__":
    main()
