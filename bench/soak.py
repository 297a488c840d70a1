"""An even load for a long time on one core: `python -m bench.soak --minutes 10`

wrk asks at 4,200 redirects a second for random ones of 100,000 links, as 1,000 agents do, while the service,
one web process and the worker, ingests on the same core. It keeps that pace by a clock, also where answers
take longer. Every answer must be counted and nothing else, the ingest must keep up, and memory must not grow
in the second half.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from bench._stored_links import is_at_rest, store
from bench.redirects import (
    CONNECTIONS,
    Load,
    before_others,
    clicks,
    lag_of,
    on_core,
    read,
    require_programs,
    running_server,
)
from bench.targeting import requests
from tests.crowds import Owner
from tests.server import BROWSER, Server, wait_for

RATE, LINKS, SAMPLE_SECONDS, REST_SECONDS = 4_200, 100_000, 10, 15
P99_MS, LAG_SECONDS, GROWTH_MIB, LEAST_RATE = 5.0, 5.0, 16.0, 0.97
COLUMNS = "{:>8}{:>12}{:>10}{:>12}{:>12}"
# The number of requests is fixed and they end before wrk's time does: it drops those that are under way then.
SCRIPT = """
local ffi = require("ffi")
ffi.cdef("typedef struct { long seconds; long us; } moment; int gettimeofday(moment *, void *);")
local moment = ffi.new("moment")
local texts = {
%s
}
local left, gap = %d, %f
local due
math.randomseed(1)
function delay()
    if left <= 0 then return 3600000 end
    left = left - 1
    ffi.C.gettimeofday(moment, nil)
    local now = tonumber(moment.seconds) * 1000 + tonumber(moment.us) / 1000
    due = (due or now) + gap
    return math.max(0, due - now + %d * gap * (math.random() - 0.5))
end
function request()
    local alias = string.format("k%%07d", math.random(0, %d))
    return (string.gsub(texts[math.random(1, #texts)], "ALIAS", alias, 1))
end
"""


class Sample(NamedTuple):
    """The service at a moment: seconds, clicks, lag of its rows, memory of all its processes."""

    seconds: float
    clicks: int
    lag: float
    mib: float


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--rate", type=int, default=RATE)
    options = parser.parse_args()
    require_programs("wrk")
    total = int(options.rate * options.minutes * 60)
    with tempfile.TemporaryDirectory() as place, running_server(Path(place)) as server:
        Owner(server)
        store(server.data_dir / "main.db", LINKS)
        wait_for(lambda: is_at_rest(server), "the end of reading")
        script = write_script(Path(place), server, total, options.rate)
        before = clicks(server)
        samples, load = run(server, script, options.minutes * 60)
        wait_for(lambda: lag_of(server) == 0, "the last clicks", 60)
        counted = clicks(server) - before
    report(samples, load, counted, total, options.minutes * 60, options.rate)


def write_script(directory: Path, server: Server, total: int, rate: int) -> Path:
    texts = ",\n".join(map(json.dumps, requests("ALIAS", server.port)))
    path = directory / "soak.lua"
    path.write_text(SCRIPT % (texts, total, 1000 / rate, CONNECTIONS, LINKS - 1))
    return path


def run(server: Server, script: Path, seconds: float) -> tuple[list[Sample], Load]:
    """Load the server, and look at it every ten seconds."""
    span = int(seconds * 1.05) + REST_SECONDS
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{span}s", "--latency", "-H", f"User-Agent: {BROWSER}"]
    print(COLUMNS.format("seconds", "clicks", "lag s", "MiB in all", "clicks/s"))
    with on_core(0), before_others():
        wrk = subprocess.Popen(
            [*command, "-s", str(script), f"{server.url}/"], stdout=subprocess.PIPE, text=True
        )
    samples = list(watch(server, wrk))
    output, _ = wrk.communicate()
    return samples, read(output)


def watch(server: Server, wrk: subprocess.Popen[str]) -> Iterator[Sample]:
    begin, before = time.monotonic(), Sample(0, clicks(server), 0, memory(server))
    while wrk.poll() is None:
        time.sleep(SAMPLE_SECONDS)
        now = Sample(time.monotonic() - begin, clicks(server), lag_of(server), memory(server))
        rate = (now.clicks - before.clicks) / (now.seconds - before.seconds)
        figures = f"{now.clicks:,}", f"{now.lag:.1f}", f"{now.mib:.0f}", f"{rate:,.0f}"
        print(COLUMNS.format(f"{now.seconds:.0f}", *figures), flush=True)
        yield now
        before = now


def memory(server: Server) -> float:
    """The memory of all processes of the service in MiB, with what they share counted once."""
    assert server.process is not None
    sizes = [
        int(re.findall(r"^Pss: +(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)[0])
        for pid in family(server.process.pid)
    ]
    return sum(sizes) / 1024


def family(pid: int) -> Iterator[int]:
    """A process, its children and theirs."""
    yield pid
    for tasks in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in tasks.read_text().split():
            yield from family(int(child))


def report(samples: list[Sample], load: Load, counted: int, total: int, seconds: float, rate: int) -> None:
    """Print the result and exit with an error where a target is missed."""
    under_load = [each for each in samples if SAMPLE_SECONDS < each.seconds < seconds]
    lag = max((each.lag for each in under_load), default=0.0)
    middle, last = under_load[len(under_load) // 2], under_load[-1]
    reached = (last.clicks - under_load[0].clicks) / (last.seconds - under_load[0].seconds)
    print(f"{load.answers:,} answers of {total:,}, {counted:,} clicks")
    print(
        f"{reached:,.0f} a second (at least {rate * LEAST_RATE:,.0f}),"
        f" p99 {load.p99_ms:.1f} ms (at most {P99_MS:g})"
    )
    print(f"lag at most {lag:.1f} s (less than {LAG_SECONDS:g})")
    print(f"{last.mib:.0f} MiB, {last.mib - middle.mib:+.1f} in the second half (at most {GROWTH_MIB:g})")
    # what wrk says has failed is not looked at: in the end each connection waits, and it counts that as one
    if not load.answers == counted == total:
        sys.exit("WRONG: each answer must be one click")
    is_slow = reached < rate * LEAST_RATE or load.p99_ms > P99_MS
    if is_slow or lag >= LAG_SECONDS or last.mib - middle.mib > GROWTH_MIB:
        sys.exit("BEYOND TARGET")


if __name__ == "__main__":
    main()
