"""Plain redirects beside endless password tries: `python -m bench.passwords`

The service, one web process and the worker, has one core. In turn wrk opens a plain link alone, beside a
crowd that opens a password page again and again, and beside one that tries passwords there, each time from
another address, so that no rate limit helps. Hashing takes 26 ms, a page half a millisecond; yet a crowd that
tries passwords may slow redirects no more than one that only opens the page.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import multiprocessing
import statistics
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event
from pathlib import Path
from threading import Thread
from typing import Any

from bench.redirects import TABLE, Load, load, make_link, on_core, require_programs, running_server
from tests.crowds import Owner
from tests.server import BROWSER, Server

RATIO, CROWD, SECONDS = 1.0, 24, 60
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
OPENS, TRIES = ("GET", None), ("POST", "password=guess")
Way = tuple[str, str | None]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=5, help="of load in each round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    require_programs("wrk")
    with (
        tempfile.TemporaryDirectory() as directory,
        running_server(Path(directory), TRUSTED_PROXIES="1") as server,
    ):
        make_link(server)
        Owner(server).make_link(url="locked", location_url="https://example.com/", password="open sesame")
        report(server, options.seconds, options.rounds)


def report(server: Server, seconds: int, rounds: int) -> None:
    print(TABLE.format("", "answers/s", "p99 ms", "asked/s", "hashed/s"))
    load(f"{server.url}/hot", 1)  # the first second is not measured
    found = [one_round(server, seconds) for _ in range(rounds)]
    ratio = statistics.median(tries.rate / opens.rate for _, opens, tries in found)
    kept = statistics.median(tries.rate / alone.rate for alone, _, tries in found)
    print(f"beside who tries: {kept:.2f} of the rate alone, {ratio:.2f} of that beside who opens")
    if ratio < RATIO:
        sys.exit(f"BELOW TARGET: at least {RATIO}")


def one_round(server: Server, seconds: int) -> tuple[Load, Load, Load]:
    alone = load(f"{server.url}/hot", seconds)
    print(TABLE.format("alone", f"{alone.rate:,.0f}", f"{alone.p99_ms:.2f}", "", ""))
    opens = beside(server, seconds, "beside who opens", OPENS)
    return alone, opens, beside(server, seconds, "beside who tries", TRIES)


def beside(server: Server, seconds: int, name: str, way: Way) -> Load:
    with crowd(server.port, way) as statuses:
        found = load(f"{server.url}/hot", seconds)
    answered, hashed = sum(statuses.values()) / seconds, statuses[403] / seconds
    figures = f"{found.rate:,.0f}", f"{found.p99_ms:.2f}", f"{answered:,.0f}", f"{hashed:,.0f}"
    print(TABLE.format(name, *figures))
    return found


@contextmanager
def crowd(port: int, way: Way) -> Iterator[Counter[int]]:
    """Runs the crowd inside the block, on the load's core. After it the counts by status are filled in."""
    ended, found = multiprocessing.Event(), Counter[int]()
    results: Any = multiprocessing.Queue()
    with on_core(0):
        process = multiprocessing.Process(target=ask_all, args=(port, way, ended, results))
        process.start()
    try:
        yield found
    finally:
        ended.set()
        found.update(results.get(timeout=SECONDS))
        process.join()


def ask_all(port: int, way: Way, ended: Event, results: Any) -> None:
    numbers, statuses = itertools.count(1), Counter[int]()
    threads = [Thread(target=ask, args=(port, way, ended, numbers, statuses)) for _ in range(CROWD)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    results.put(dict(statuses))


def ask(port: int, way: Way, ended: Event, numbers: Iterator[int], statuses: Counter[int]) -> None:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
    method, body = way
    while not ended.is_set():
        number = next(numbers)
        address = f"10.{number >> 16 & 255}.{number >> 8 & 255}.{number & 255}"
        line.request(method, "/locked", body, {**FORM, "User-Agent": BROWSER, "X-Forwarded-For": address})
        answer = line.getresponse()
        answer.read()
        statuses[answer.status] += 1
    line.close()


if __name__ == "__main__":
    main()
