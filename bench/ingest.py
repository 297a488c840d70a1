"""Rate of visits into the journal, and from there into counters and rows: `python -m bench.ingest`

Each figure stands beside what limits it, measured in the same run: a write of the same bytes to a plain
file, and the same rows put into SQLite by nothing but the driver. `--database-url` takes PostgreSQL.
"""

from __future__ import annotations

import argparse
import os
import random
import sqlite3
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

from app.analytics.ingest import Ingest
from app.analytics.rows import COLUMNS
from app.core.config import load_settings
from app.core.database import clicks_path
from app.journal import segments
from app.journal.codec import Visit, decode, encode
from app.journal.writer import Journal
from tests.migrations import environ, migrate

AGENT = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{}.0.{}.0"
SOME = 20_000


def visits(count: int, links: int) -> list[Visit]:
    """Realistic visits: many links, 1,000 agents, a few hundred of everything else."""
    chance = random.Random(1)
    agents = [AGENT.format(100 + n % 40, n) for n in range(1000)]
    paths = [f"/stories/{n}/what-happened-there" for n in range(400)]
    countries = [chr(65 + n // 26) + chr(65 + n % 26) for n in range(100)]
    return [
        Visit(
            time_ms=1_795_000_000_000 + number,
            link_id=chance.randrange(links) + 1,
            workspace_id=chance.randrange(50) + 1,
            is_bot=0,
            visitor=f"{chance.getrandbits(64):011x}"[:11],
            country_code=chance.choice(countries),
            continent_code="EU",
            city_name=f"City {chance.randrange(500)}",
            agent=chance.choice(agents),
            language=chance.choice(("de", "en", "fr", "es")),
            referrer_host=f"news{chance.randrange(50)}.example",
            referrer_path=chance.choice(paths),
            utm_source=chance.choice(("newsletter", "", "")),
            destination=f"https://example.com/landing/{chance.randrange(300)}",
        )
        for number in range(count)
    ]


def seconds(call: Callable[[], object]) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def each(call: Callable[[Any], object], values: Iterable[Any]) -> Callable[[], None]:
    def run() -> None:
        for value in values:
            call(value)

    return run


def cost(what: str, spent: float, times: int, against: float | None = None) -> None:
    ratio = f"  {spent / against:5.2f} × the plain way" if against else ""
    print(f"{what:<44}{spent / times * 1e6:>9.2f} µs{ratio}")


def rate(what: str, times: int, spent: float, against: float | None = None) -> None:
    ratio = f"  {against / spent:5.2f} of the plain way" if against else ""
    print(f"{what:<44}{times / spent:>9,.0f} /s{ratio}")


def measure_journal(directory: Path, some: list[Visit]) -> None:
    lines = [encode(visit) for visit in some]
    print(f"{len(some):,} visits, {sum(map(len, lines)) / len(lines):.0f} bytes each in the journal")
    cost("encode", seconds(each(encode, some)), len(some))
    cost("decode", seconds(each(lambda line: decode(line[1:-1]), lines)), len(some))
    plain = os.open(directory / "plain", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    bare = seconds(each(lambda line: os.write(plain, line), lines))
    os.close(plain)
    cost("a bare write", bare, len(some))
    for sync in ("worker", "group"):
        place = directory / sync
        place.mkdir()
        journal = Journal(place, sync=sync)
        journal.append(lines[0])
        few = lines if sync == "worker" else lines[:500]
        spent = seconds(each(journal.append, few))
        cost(f"append, JOURNAL_SYNC={sync}", spent, len(few), bare / len(lines) * len(few))
        rate(f"append, JOURNAL_SYNC={sync}, 32 threads", *in_threads(journal, few, 32))
        journal.close()


def in_threads(journal: Journal, lines: list[bytes], count: int) -> tuple[int, float]:
    threads = [threading.Thread(target=each(journal.append, lines)) for _ in range(count)]

    def run() -> None:
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    return len(lines) * count, seconds(run)


def plain_rows(directory: Path, count: int) -> float:
    """Seconds to insert as many rows with an index, in equally large transactions, without interning."""
    names, marks = ", ".join(COLUMNS), ", ".join("?" * len(COLUMNS))
    row = (1_795_000_000_000, 1, 1, 0, "AbCdEfGhIjk", None, *range(1, 12))
    with closing(sqlite3.connect(directory / "plain.db", isolation_level=None)) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute(f"CREATE TABLE click (id INTEGER PRIMARY KEY, {names})")
        connection.execute("CREATE INDEX by_link ON click (link_id, time_ms)")

        def run() -> None:
            for start in range(0, count, 4000):
                connection.execute("BEGIN IMMEDIATE")
                batch = [(start + n, n * 7919 % 10_000, *row[2:]) for n in range(min(4000, count - start))]
                connection.executemany(f"INSERT INTO click ({names}) VALUES ({marks})", batch)
                connection.execute("COMMIT")

        return seconds(run)


def measure_ingest(directory: Path, some: list[Visit], database_url: str) -> None:
    data = directory / "data"
    data.mkdir()
    migrate(data, database_url)
    settings = load_settings(environ(data, database_url))
    journal = Journal(segments.directory_of(settings.data_dir))
    each(journal.append, [encode(visit) for visit in some])()
    journal.close()
    bare = plain_rows(directory, len(some))
    ingest = Ingest(settings)
    rate("rows put into SQLite by the driver alone", len(some), bare)
    rate("counters", len(some), seconds(lambda: until_done(ingest._count)))
    rows = seconds(lambda: until_done(ingest._append_rows))
    rate("rows", len(some), rows, bare)
    print(f"{'sync, checkpoint, removal':<44}{seconds(ingest.tend) * 1e3:>9.1f} ms")
    ingest.close()
    if settings.is_sqlite:
        print(f"{'clicks.db':<44}{clicks_path(settings).stat().st_size / len(some):>9.0f} bytes a click")


def until_done(step: Callable[[], bool]) -> None:
    while step():
        pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--visits", type=int, default=200_000)
    parser.add_argument("--links", type=int, default=10_000)
    parser.add_argument("--database-url", default="", help="an empty PostgreSQL database; SQLite by default")
    options = parser.parse_args()
    some = visits(options.visits, options.links)
    with tempfile.TemporaryDirectory() as place:
        measure_journal(Path(place), some[:SOME])
        measure_ingest(Path(place), some, options.database_url)


if __name__ == "__main__":
    main()
