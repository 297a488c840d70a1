"""Rate of redirects of a hot plain link, all clicks counted, beside nginx's: `python -m bench.redirects`

wrk with 32 connections loads one core; the whole service, one web process and the worker, runs on another.
nginx answers a constant redirect on that same core, in turn, while the service is idle; so does granian with
the smallest ASGI application. Our rate is given as a part of theirs.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import socket
import sqlite3
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from app.analytics.lag import journal_state
from app.analytics.offsets import Offsets
from app.core.scheduling import LONG_MS, SHORT_MS, set_slice
from app.journal import segments
from tests.server import BROWSER, ROOT, Server, free_port, wait_for
from tests.slices import read_slice

RATIO, P99_MS, CONNECTIONS = 0.40, 5.0, 32
TABLE = "{:<22}{:>12}{:>10}{:>12}{:>12}"
# wrk drops open requests when its time is over; in this round it stops sending long before
EXACT = 50_000
COUNTED_OUT = f"""
local left = {EXACT}
function delay()
  if left == 0 then return 3600000 end
  left = left - 1
  return 0
end
"""
TIMES = {"us": 0.001, "ms": 1.0, "s": 1000.0}


@dataclass(frozen=True)
class Load:
    """wrk's figures. `answers` are those it read to the end; up to 32 more may have been under way."""

    rate: float
    p99_ms: float
    answers: int
    failed: int


class Round(NamedTuple):
    """What each gave, one after the other."""

    nginx: Load
    granian: Load
    ours: Load


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=5, help="of load in each round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    require_programs("wrk", "nginx")
    with (
        tempfile.TemporaryDirectory() as directory,
        nginx(Path(directory)) as limit,
        bare_granian() as bare,
        service(Path(directory)) as server,
    ):
        report(server, limit, bare, options.seconds, options.rounds)


def require_programs(*programs: str) -> None:
    if missing := [name for name in programs if shutil.which(name) is None]:
        sys.exit(f"This needs {' and '.join(missing)}: apt-get install {' '.join(missing)}")


def report(server: Server, limit: str, bare: str, seconds: int, rounds: int) -> None:
    print(TABLE.format("", "answers/s", "p99 ms", "answers", "clicks"))
    for url in (bare, f"{server.url}/hot"):
        load(url, 1)  # the first second is not measured
    found = [one_round(server, limit, bare, seconds) for _ in range(rounds)]
    ratio = statistics.median(one.ours.rate / one.nginx.rate for one in found)
    of_bare = statistics.median(one.ours.rate / one.granian.rate for one in found)
    p99 = statistics.median(one.ours.p99_ms for one in found)
    exact_round(server)
    print(f"ratio {ratio:.2f} (at least {RATIO}), p99 {p99:.1f} ms (at most {P99_MS:g}), medians of {rounds}")
    print(f"{of_bare:.2f} of granian as it comes")
    if ratio < RATIO or p99 > P99_MS:
        sys.exit("BELOW TARGET")


def one_round(server: Server, limit: str, bare: str, seconds: int) -> Round:
    # or the worker takes a part of the others' core
    wait_for(lambda: is_idle(server), "the rows of all clicks")
    theirs = {name: load(url, seconds) for name, url in (("nginx", limit), ("granian", bare))}
    for name, one in theirs.items():
        print(TABLE.format(name, f"{one.rate:,.0f}", f"{one.p99_ms:.2f}", f"{one.answers:,}", ""))
    before = clicks(server)
    ours = load(f"{server.url}/hot", seconds)
    time.sleep(2)  # the contract's time for a click to show
    counted = clicks(server) - before
    print(
        TABLE.format(
            "waypost", f"{ours.rate:,.0f}", f"{ours.p99_ms:.2f}", f"{ours.answers:,}", f"{counted:,}"
        )
    )
    if ours.failed or not ours.answers <= counted <= ours.answers + CONNECTIONS:
        sys.exit(f"WRONG: {ours.failed} failed, {counted} clicks for {ours.answers} answers")
    return Round(theirs["nginx"], theirs["granian"], ours)


def exact_round(server: Server) -> None:
    """Send no more requests than can all be answered. Every one must be counted, and nothing else."""
    script = server.data_dir.with_name("exact.lua")
    script.write_text(COUNTED_OUT)
    before = clicks(server)
    answers = load(f"{server.url}/hot", 6, script).answers
    time.sleep(2)
    counted = clicks(server) - before
    print(f"{answers:,} answers to wrk, {counted:,} clicks two seconds later")
    if not answers == counted == EXACT:
        sys.exit("WRONG: these must be equal")


def load(url: str, seconds: int, script: Path | None = None) -> Load:
    """Measure a server with wrk. A script (in Lua) says what it requests."""
    command = [
        "wrk",
        "-t1",
        f"-c{CONNECTIONS}",
        f"-d{seconds}s",
        "--latency",
        "-H",
        f"User-Agent: {BROWSER}",
        *(["-s", str(script)] if script else []),
        url,
    ]
    with on_core(0), before_others():
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=seconds + 30)
    return read(done.stdout)


def read(output: str) -> Load:
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)\b", output)
    answers = re.search(r"(\d+) requests in", output)
    rate = re.search(r"Requests/sec:\s+([\d.]+)", output)
    if not (p99 and answers and rate):
        sys.exit(f"wrk said what is not understood:\n{output}")
    errors = re.search(r"Socket errors: connect (\d+), read (\d+), write (\d+), timeout (\d+)", output)
    wrong = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
    failed = sum(map(int, errors.groups())) if errors else 0
    failed += int(wrong[1]) if wrong else 0
    return Load(float(rate[1]), float(p99[1]) * TIMES[p99[2]], int(answers[1]), failed)


@contextmanager
def on_core(number: int) -> Iterator[None]:
    """Processes started inside the block run on one core alone, if there are two."""
    all_cores = os.sched_getaffinity(0)
    if len(all_cores) > 1:
        os.sched_setaffinity(0, {sorted(all_cores)[number]})
    try:
        yield
    finally:
        os.sched_setaffinity(0, all_cores)


@contextmanager
def before_others() -> Iterator[None]:
    """Processes started inside the block wait for no thread of the service: as if on another machine."""
    usual = read_slice(0)
    set_slice(SHORT_MS)
    try:
        yield
    finally:
        set_slice(usual or LONG_MS)


@contextmanager
def running_server(directory: Path, **settings: str) -> Iterator[Server]:
    """Runs the worker and one web process, unless `settings` say more, on a core of their own."""
    server = Server(directory / "data", API_RATE_LIMIT="0", **settings)
    with on_core(1):
        server.start()
    try:
        yield server
    finally:
        server.stop()


@contextmanager
def service(directory: Path) -> Iterator[Server]:
    with running_server(directory) as server:
        make_link(server)
        yield server


def make_link(server: Server) -> None:
    who = ("--email", "bench@example.com")
    server.flask("users", "create", *who, "--password-stdin", stdin="only for a benchmark\n")
    key = server.flask("keys", "create", *who, "--name", "bench").strip()
    fields = ["-d", "url=hot", "-d", "location_url=https://example.com/a/page?x=1"]
    command = ["curl", "-sf", "-H", f"Authorization: Bearer {key}", *fields, f"{server.url}/api/links"]
    subprocess.run(command, check=True, capture_output=True)


def clicks(server: Server) -> int:
    connection = sqlite3.connect(f"file:{server.data_dir / 'clicks.db'}?mode=ro", uri=True)
    try:
        return int(connection.execute("SELECT coalesce(sum(clicks), 0) FROM counter").fetchone()[0])
    finally:
        connection.close()


def lag_of(server: Server) -> float:
    """The age of the oldest click that is not yet a row, in seconds."""
    with closing(sqlite3.connect(f"file:{server.data_dir / 'clicks.db'}?mode=ro", uri=True)) as connection:
        found = connection.execute("SELECT name, counters_offset, rows_offset FROM position").fetchall()
    positions = {name: Offsets(counters, rows) for name, counters, rows in found}
    return journal_state(segments.directory_of(server.data_dir), positions, time.time()).rows.seconds


def is_idle(server: Server) -> bool:
    """Whether all clicks are rows, and no more are coming."""
    before = clicks(server)
    time.sleep(0.5)
    return 0 < before == clicks(server) and lag_of(server) == 0


@contextmanager
def nginx(directory: Path) -> Iterator[str]:
    """Runs an nginx with a constant redirect on the service's core. Yields its address."""
    with nginx_with(directory, "location / { return 302 https://example.com/a/page?x=1; }") as site:
        yield f"{site}/"


@contextmanager
def bare_granian() -> Iterator[str]:
    """Runs granian as it comes, with an application that does nothing, on the service's core."""
    port = free_port()
    options = ["--interface", "asgi", "--host", "127.0.0.1", "--port", str(port), "--log-level", "error"]
    command = [sys.executable, "-m", "granian", *options, "--workers", "1", "bench._constant_redirect:app"]
    with running(command, cwd=ROOT):
        wait_for(partial(is_open, port), "granian", 10)
        yield f"http://127.0.0.1:{port}/"


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


@contextmanager
def nginx_with(directory: Path, places: str, name: str = "nginx") -> Iterator[str]:
    """Runs an nginx with these lines for its one server. Yields its scheme, host and port."""
    port, base = free_port(), directory / name
    base.mkdir()
    kinds = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    paths = " ".join(f"{kind}_temp_path {base}/{kind};" for kind in kinds)
    user = "user root root; " if os.geteuid() == 0 else ""  # else it may not read the directory
    (base / "nginx.conf").write_text(
        f"{user}daemon off; worker_processes 1; pid {base}/pid; error_log {base}/error.log; events {{}}\n"
        f"http {{ access_log off; {paths} keepalive_requests 100000000;\n"
        f"  server {{ listen 127.0.0.1:{port};\n    {places} }} }}\n"
    )
    with running(["nginx", "-p", str(base), "-c", str(base / "nginx.conf"), "-e", "stderr"]):
        wait_for((base / "pid").exists, "nginx", 10)
        yield f"http://127.0.0.1:{port}"


@contextmanager
def running(command: Sequence[str], **options: Any) -> Iterator[None]:
    """Runs a program on the servers' core, and ends it afterwards. `options`: those of `Popen`."""
    with on_core(1):
        process = subprocess.Popen(command, **options)
    try:
        yield
    finally:
        process.terminate()
        process.wait(60)


if __name__ == "__main__":
    main()
