"""Import and export of 100,000 links while visitors come: `python -m bench.transfer`

The import runs beside the worker, as in an installation. wrk requests redirects without pause at a moderate
rate, in rounds before the import and in as many while it runs.
"""

from __future__ import annotations

import argparse
import os
import resource
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from bench.ingest_beside import CALM
from bench.redirects import Load, load, make_link, require_programs
from tests.server import ROOT, Server

SECONDS_IN, SECONDS_OUT, MEMORY_MIB, P99_TIMES = 60, 10, 150, 2
ROUNDS, ROUND_SECONDS = 5, 3
HEAD = "createdAt,shortCode,longUrl,title,tags,visits\n"
ROW = "2023-05-06T07:08:09+02:00,code{0},https://example.com/some/path/{0}?utm=x,Title {0},sale|mail,{1}\n"
WHO = ("--email", "bench@example.com")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rows", type=int, default=100_000)
    options = parser.parse_args()
    require_programs("wrk")
    with tempfile.TemporaryDirectory() as directory:
        base = Path(directory)
        server = Server(base / "data", API_RATE_LIMIT="0", PROCESSES="1").start()
        try:
            make_link(server)
            report(server, base, options.rows)
        finally:
            server.stop()


def report(server: Server, base: Path, rows: int) -> None:
    table, few = base / "links.csv", base / "few.csv"
    write(table, rows)
    write(few, 100)
    small = run(server, "import", str(few), *WHO)
    visitors = base / "calm.lua"
    visitors.write_text(CALM)
    load(f"{server.url}/hot", 1, visitors)  # the first second is not measured
    calm = rounds(server, visitors)
    process = start_command(server, "import", str(table), *WHO)
    began = time.monotonic()
    busy = rounds(server, visitors)
    if process.poll() is not None:
        sys.exit("WRONG: the import was over before the visitors were; give more --rows")
    _, usage = waited(process)
    seconds, grown = time.monotonic() - began, (usage.ru_maxrss - small.ru_maxrss) / 1024
    made = count(server)
    line(
        f"import of {rows:,}",
        f"{seconds:.1f} s",
        seconds * 100_000 / rows <= SECONDS_IN,
        f"{SECONDS_IN} s for 100,000",
    )
    line("its memory, more than for 100 rows", f"{grown:.0f} MiB", grown < MEMORY_MIB, f"{MEMORY_MIB} MiB")
    print_report(calm, busy)
    began = time.monotonic()
    run(server, "export", *WHO, "--output", str(base / "out.csv"))
    seconds = time.monotonic() - began
    line(
        f"export of {made:,}",
        f"{seconds:.1f} s",
        seconds * 100_000 / rows <= SECONDS_OUT,
        f"{SECONDS_OUT} s for 100,000",
    )
    if made != max(rows, 100) + 1:
        sys.exit(f"WRONG: {made:,} links")


def rounds(server: Server, visitors: Path) -> list[Load]:
    return [load(f"{server.url}/hot", ROUND_SECONDS, visitors) for _ in range(ROUNDS)]


def print_report(calm: list[Load], busy: list[Load]) -> None:
    without, beside = (statistics.median(one.p99_ms for one in loads) for loads in (calm, busy))
    rate = statistics.median(one.rate for one in busy)
    shown = f"p99 {without:.1f} ms without, {beside:.1f} ms with: {beside / without:.2f}, {rate:,.0f}/s"
    line("redirects meanwhile", shown, beside <= P99_TIMES * without, f"{P99_TIMES} times")


def line(what: str, figure: str, is_reached: bool, target: str) -> None:
    print(f"{what}: {figure} (at most {target}){'' if is_reached else '  ABOVE TARGET'}", flush=True)


def write(path: Path, rows: int) -> None:
    with path.open("w") as file:
        file.write(HEAD)
        file.writelines(ROW.format(number, number % 50) for number in range(rows))


def start_command(server: Server, *arguments: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "flask", "--app", "wsgi", *arguments]
    return subprocess.Popen(
        ["nice", "-n", "10", *command], cwd=ROOT, env=server.environ, stdout=subprocess.DEVNULL
    )


def waited(process: subprocess.Popen[bytes]) -> tuple[int, resource.struct_rusage]:
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        sys.exit(f"WRONG: exit code {process.returncode}")
    return process.returncode, usage


def run(server: Server, *arguments: str) -> resource.struct_rusage:
    return waited(start_command(server, *arguments))[1]


def count(server: Server) -> int:
    connection = sqlite3.connect(f"file:{server.data_dir / 'main.db'}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT count(*) FROM link").fetchone()[0])
    finally:
        connection.close()


if __name__ == "__main__":
    main()
