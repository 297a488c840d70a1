"""Processor time of requests to the API on SQLite: `python -m bench.processor_time`

Unlike a rate, it says something on a busy machine too: the least of some rounds, of all web processes.
For two versions, run it in each of their trees, in turn and more than once.
"""

from __future__ import annotations

import argparse
import random
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bench.api import Line, fill, multipart
from bench.idle import processor_seconds
from bench.soak import family
from tests.server import Server

LINKS, ROUNDS = 20_000, 5
COLUMNS = "{:<18}{:>10}{:>10}"
Ask = Callable[[Line], tuple[int, bytes]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--processes", type=int, default=2, help="web processes")
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--requests", type=int, default=800, help="of each kind and round")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as directory:
        data_dir = Path(directory) / "data"
        data_dir.mkdir()
        key = fill(data_dir, LINKS)
        server = Server(
            data_dir,
            API_RATE_LIMIT="1000000",  # counted, as by default, and never reached
            PROCESSES=str(options.processes),
            SECRET_KEY="a secret of the tests",
        ).start()
        try:
            print(COLUMNS.format("ms a request", "least", "most"))
            for name, ask in kinds().items():
                lines = [Line(server.port, key) for _ in range(options.connections)]
                run(lines, ask, options.requests)  # the first round is not measured
                spent = [spent_by(server, lines, ask, options.requests) for _ in range(ROUNDS)]
                print(COLUMNS.format(name, f"{min(spent):.3f}", f"{max(spent):.3f}"), flush=True)
        finally:
            server.stop()


def kinds() -> dict[str, Ask]:
    chance = random.Random(1)
    body, kind = multipart(location_url="https://example.com/new", title="New", utm_source="bench")
    return {
        "read": lambda line: line.ask("GET", f"/api/links/{chance.randint(1, LINKS)}"),
        "list, 25 links": lambda line: line.ask(
            "GET", f"/api/links?results_per_page=25&page={chance.randint(1, LINKS // 25)}"
        ),
        "create": lambda line: line.ask("POST", "/api/links", body, kind),
    }


def run(lines: list[Line], ask: Ask, requests: int) -> None:
    """Ask on all connections at once."""

    def ask_often(line: Line) -> None:
        for _ in range(requests // len(lines)):
            status, body = ask(line)
            if status not in {200, 201}:
                raise RuntimeError(f"{status}: {body[:300]!r}")

    with ThreadPoolExecutor(len(lines)) as executor:
        list(executor.map(ask_often, lines))


def spent_by(server: Server, lines: list[Line], ask: Ask, requests: int) -> float:
    """Milliseconds of all processes but the worker for each request of a round."""
    assert server.process is not None
    web = [pid for pid in family(server.process.pid) if "worker" not in Path(f"/proc/{pid}/comm").read_text()]
    before = sum(map(processor_seconds, web))
    run(lines, ask, requests)
    asked = requests // len(lines) * len(lines)
    return (sum(map(processor_seconds, web)) - before) / asked * 1000


if __name__ == "__main__":
    main()
