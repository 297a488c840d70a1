"""Redirects while 20,000 clicks a second are ingested: `python -m bench.ingest_beside`

The whole service runs; wrk asks for redirects without pause at a moderate rate, and in every other round this
program writes visits to 100,000 links into the service's journal, as more web processes would. Rounds with
and without take turns, and are compared with each other.
"""

from __future__ import annotations

import argparse
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from contextlib import closing
from pathlib import Path

from app.journal import segments
from app.journal.codec import encode
from app.journal.writer import Journal
from bench.ingest import visits
from bench.redirects import Load, load, make_link, require_programs
from tests.server import Server, wait_for

RATE, WORSE, LINKS = 20_000, 1.2, 100_000
TICKS = 100  # small bursts of visits a second
COLUMNS = "{:<26}{:>14}{:>14}{:>14}"
# wrk's threads wait a little between requests, so that redirects alone do not fill a core
CALM = "function delay() return 10 end\n"


class Flood:
    """Writes visits at an even rate, in a thread of this process."""

    def __init__(self, server: Server, lines: list[bytes], rate: int) -> None:
        self.journal = Journal(segments.directory_of(server.data_dir))
        self.lines, self.rate, self.written = lines, rate, 0
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self) -> None:
        begin = time.perf_counter()
        while not self.ended.wait(1 / TICKS):
            due = int((time.perf_counter() - begin) * self.rate)
            for number in range(self.written, due):
                self.journal.append(self.lines[number % len(self.lines)])
            self.written = due

    def __enter__(self) -> Flood:
        self.thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()
        self.journal.close()


def rows(server: Server) -> int:
    with closing(sqlite3.connect(f"file:{server.data_dir / 'clicks.db'}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT coalesce(max(id), 0) FROM click").fetchone()[0])


def rolled_up(server: Server) -> int:
    with closing(sqlite3.connect(f"file:{server.data_dir / 'clicks.db'}?mode=ro", uri=True)) as connection:
        return int(connection.execute("SELECT coalesce(sum(visits), 0) FROM owner_day").fetchone()[0])


def alone(server: Server, script: Path, seconds: int) -> Load:
    return load(f"{server.url}/hot", seconds, script)


def beside(server: Server, script: Path, seconds: int, lines: list[bytes], rate: int) -> tuple[Load, float]:
    """wrk's figures, and how many visits a second became rows and sums meanwhile."""
    before, begun = rows(server), time.perf_counter()
    with Flood(server, lines, rate) as flood:
        seen = load(f"{server.url}/hot", seconds, script)
        taken, spent = rows(server) - before, time.perf_counter() - begun
    written = flood.written
    wait_for(lambda: rows(server) - before >= written, "the rows", 300)
    if rolled_up(server) < rows(server):
        wait_for(lambda: rolled_up(server) >= rows(server), "the sums")
    return seen, taken / spent


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=5, help="of each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--rate", type=int, default=RATE, help="visits a second beside the redirects")
    options = parser.parse_args()
    require_programs("wrk")
    lines = [encode(visit) for visit in visits(options.rate, LINKS)]
    with tempfile.TemporaryDirectory() as place:
        script = Path(place) / "calm.lua"
        script.write_text(CALM)
        server = Server(Path(place) / "data", PROCESSES="1", API_RATE_LIMIT="0").start()
        try:
            make_link(server)
            alone(server, script, 1)  # the first second is not measured
            report(server, script, lines, options.seconds, options.rounds, options.rate)
        finally:
            server.stop()


def report(server: Server, script: Path, lines: list[bytes], seconds: int, rounds: int, rate: int) -> None:
    print(COLUMNS.format("", "redirects/s", "p99 ms", "clicks/s"))
    ratios, rates = [], []
    for _ in range(rounds):
        calm = alone(server, script, seconds)
        print(COLUMNS.format("redirects alone", f"{calm.rate:,.0f}", f"{calm.p99_ms:.2f}", ""))
        busy, taken = beside(server, script, seconds, lines, rate)
        print(
            COLUMNS.format(
                "while clicks are taken in", f"{busy.rate:,.0f}", f"{busy.p99_ms:.2f}", f"{taken:,.0f}"
            )
        )
        ratios.append(busy.p99_ms / calm.p99_ms)
        rates.append(taken)
    ratio, taken = statistics.median(ratios), statistics.median(rates)
    print(f"medians of {rounds}: {taken:,.0f} clicks/s ({taken / rate:.2f} of what came),", end=" ")
    print(f"p99 {ratio:.2f} × without (at most {WORSE})")
    if ratio > WORSE or taken < 0.9 * rate:
        sys.exit("BELOW TARGET")


if __name__ == "__main__":
    main()
