"""Time of a start, and of first visits, with very many links: `python -m bench.start --links 16000000`

A start is counted from the command to the first redirect that is answered, with the tables migrated already.
A first visit is one of a link that no process has in memory: it is read from the database. `--keep` names a
directory in which the links stay.
"""

from __future__ import annotations

import argparse
import http.client
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from contextlib import closing
from pathlib import Path

from bench._stored_links import store
from tests.crowds import Owner
from tests.server import BROWSER, Server

START_SECONDS, COLD_MS = 3.0, 5.0
STARTS, VISITS = 3, 300


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--links", type=int, default=1_000_000)
    parser.add_argument("--keep", type=Path, help="a directory in which what is made stays")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = options.keep or Path(temporary)
        place.mkdir(exist_ok=True)
        server = Server(place / "data", PROCESSES="2", API_RATE_LIMIT="0")
        if not is_stored(place / "data" / "main.db"):
            server.start()
            Owner(server)
            server.stop()
            store(place / "data" / "main.db", options.links)
        found = [one_start(server, options.links) for _ in range(STARTS)]
    report([seconds for seconds, _ in found], [one for _, visits in found for one in visits])


def is_stored(path: Path) -> bool:
    if not path.exists():
        return False
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("SELECT 1 FROM link LIMIT 1").fetchone() is not None


def one_start(server: Server, links: int) -> tuple[float, list[float]]:
    """Seconds until the first redirect, and milliseconds of first visits right after it."""
    chance = random.Random()
    began = time.perf_counter()
    server.begin()
    try:
        while not is_redirected(server, alias(chance, links)):
            time.sleep(0.01)
        seconds = time.perf_counter() - began
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as line:
            visits = [visit(line, alias(chance, links)) for _ in range(VISITS)]
    finally:
        server.stop()
    return seconds, visits


def alias(chance: random.Random, links: int) -> str:
    return f"k{chance.randrange(links):07d}"


def is_redirected(server: Server, name: str) -> bool:
    try:
        with closing(http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)) as line:
            visit(line, name)
    except OSError:
        return False  # nothing listens yet
    return True


def visit(line: http.client.HTTPConnection, name: str) -> float:
    """Milliseconds that a visit takes. Exits unless it is redirected."""
    began = time.perf_counter()
    line.request("GET", f"/{name}", headers={"User-Agent": BROWSER})
    answer = line.getresponse()
    answer.read()
    milliseconds = (time.perf_counter() - began) * 1000
    if answer.status != 302:
        sys.exit(f"WRONG: /{name} answered {answer.status}")
    return milliseconds


def report(starts: list[float], visits: list[float]) -> None:
    visits.sort()
    p95 = visits[int(len(visits) * 0.95)]
    start = statistics.median(starts)
    print(
        f"{start:.2f} s from the command to the first redirect (at most {START_SECONDS:g}), of {len(starts)}"
    )
    middle = statistics.median(visits)
    print(f"first visits: {middle:.2f} ms, p95 {p95:.2f} ms (at most {COLD_MS:g}), of {len(visits)}")
    if start > START_SECONDS or p95 > COLD_MS:
        sys.exit("BEYOND TARGET")


if __name__ == "__main__":
    main()
