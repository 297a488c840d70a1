"""One owner's work beside a hostile owner: `python -m bench.neighbours` compares quiet with two attacks.

Owner B imports a table by the dashboard and has links whose destinations are checked. First no other owner
is active. Then owner A imports hostile and large tables without pause. Then A's links redirect to servers
that hang, trickle and redirect to impossible addresses. B's times under attack are compared with those in
quiet.
"""

from __future__ import annotations

import argparse
import itertools
import sqlite3
import statistics
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from bench._neighbours import (
    KINDS,
    PASSWORD,
    Api,
    Window,
    addresses_of,
    importing,
    rows_of,
    serving,
    wait_until_second,
)
from tests.server import Server, wait_for

MOST_TIMES = 2.0
A, B = "a@example.com", "b@example.com"
WINDOWS = 3  # of owner A, each with an import of its own
GOOD, ODD = 20, 200  # destinations of B's and of A's links, each at an address of its own
GOOD_NETWORK, ODD_NETWORK = 80, 81
LEAD_SECONDS = 15  # for an attack to get under way
START_SECOND = 30  # of a minute: B's links are made then, and checked from the next full minute on
CHECK_SECONDS = 300
TABLE = "{:<16} {:<28} {:>9} {:>7}  {}"


@dataclass
class Bench:
    """The instance, and owner B in it."""

    server: Server
    port: int
    rows: int
    rounds: int
    window: Window
    api: Api
    handler_id: int
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def import_seconds(self) -> float:
        """Seconds from the upload to the last link, the median of some tables."""
        return statistics.median(self.one_import() for _ in range(self.rounds))

    def one_import(self) -> float:
        table = rows_of(self.rows, f"b{next(self.numbers)}")
        began = time.monotonic()
        state = self.window.run_import(table, ("location_url", "title"), threading.Event())
        if state != "done":
            sys.exit(f"WRONG: owner B's import is {state!r}")
        return time.monotonic() - began

    def check_seconds(self) -> float:
        """Seconds from making links, half a minute before the next checks, to the last result."""
        wait_until_second(START_SECOND)
        began = time.monotonic()
        ids = [
            self.api.create("links", location_url=url, email_reports=[self.handler_id])
            for url in urls(GOOD_NETWORK, GOOD, self.port, ("good",))
        ]
        wait_for(lambda: checked(self.server, ids) == len(ids), "the results of B's checks", CHECK_SECONDS)
        return time.monotonic() - began


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000, help="of each of B's tables")
    parser.add_argument("--rounds", type=int, default=3, help="tables of B in each state of things")
    parsed = parser.parse_args()
    addresses = addresses_of(GOOD_NETWORK, GOOD) + addresses_of(ODD_NETWORK, ODD)
    with tempfile.TemporaryDirectory() as directory, serving(addresses) as port:
        server = Server(
            Path(directory) / "data",
            API_RATE_LIMIT="0",
            PROCESSES="2",
            ALLOW_PRIVATE_NETWORKS="127.0.0.0/8",
        )
        try:
            server.start()
            for email in (A, B):
                server.flask("users", "create", "--email", email, "--password-stdin", stdin=f"{PASSWORD}\n")
            window, (api, handler_id) = Window(server, B), watching(server, B)
            report(Bench(server, port, parsed.rows, parsed.rounds, window, api, handler_id))
        finally:
            server.stop()


def watching(server: Server, email: str) -> tuple[Api, int]:
    """Turn on destination checks for the owner. Returns an API client, and the id of a new handler."""
    api = Api(server, email)
    with closing(sqlite3.connect(server.data_dir / "main.db", timeout=30)) as connection, connection:
        connection.execute("UPDATE user SET checks_destinations = 1 WHERE email = ?", [email])
    return api, api.create(
        "notification-handlers", type="webhook", name="bench", webhook="https://example.com/"
    )


def report(bench: Bench) -> None:
    print(TABLE.format("owner A", "owner B's", "seconds", "times", "what became of A's"))
    work = {"import": bench.import_seconds, f"results of {GOOD} checks": bench.check_seconds}
    bench.one_import()  # the first is not measured
    quiet = {name: measure() for name, measure in work.items()}
    for name, seconds in quiet.items():
        print(TABLE.format("does nothing", name, f"{seconds:.1f}", "", ""), flush=True)
    missed = []
    attacks: dict[str, Callable[[], AbstractContextManager[Callable[[], Counter[str]]]]] = {
        "hostile imports": lambda: importing(bench.server, A, WINDOWS),
        "odd servers": lambda: checking(bench),
    }
    for attack, begin in attacks.items():
        with begin() as count_outcomes:
            time.sleep(LEAD_SECONDS)
            for name, measure in work.items():
                seconds = measure()
                times = seconds / quiet[name]
                became = ", ".join(f"{what} {count}" for what, count in count_outcomes().most_common(4))
                print(TABLE.format(attack, name, f"{seconds:.1f}", f"{times:.2f}", became), flush=True)
                if times > MOST_TIMES:
                    missed.append(f"{attack}: {name} took {times:.2f} times as long (at most {MOST_TIMES:g})")
    if missed:
        sys.exit("\n".join(["MISSED:", *missed]))


@contextmanager
def checking(bench: Bench) -> Iterator[Callable[[], Counter[str]]]:
    """Gives owner A links that redirect to odd servers. Yields a counter of those that have a result."""
    api, handler_id = watching(bench.server, A)
    ids = [
        api.create("links", location_url=url, email_reports=[handler_id])
        for url in urls(ODD_NETWORK, ODD, bench.port, KINDS)
    ]
    yield lambda: Counter({f"checked of {ODD}": checked(bench.server, ids)})


def urls(network: int, count: int, port: int, kinds: tuple[str, ...]) -> list[str]:
    addresses = addresses_of(network, count)
    return [
        f"http://{address}:{port}/{kind}"
        for address, kind in zip(addresses, itertools.cycle(kinds), strict=False)
    ]


def checked(server: Server, ids: list[int]) -> int:
    """How many of these links' destinations have a result."""
    marks = ",".join("?" * len(ids))
    known = "FROM destination_check WHERE checked_datetime IS NOT NULL"
    query = f"SELECT count(*) {known} AND link_id IN ({marks})"
    with closing(sqlite3.connect(f"file:{server.data_dir / 'main.db'}?mode=ro", uri=True)) as connection:
        return int(connection.execute(query, ids).fetchone()[0])


if __name__ == "__main__":
    main()
