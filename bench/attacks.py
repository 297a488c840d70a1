"""Redirects under attack: `python -m bench.attacks` attacks with 500 connections of one machine.

Each round measures a hot redirect in quiet and then under one attack (slow bodies, forms of many fields,
hoarded hosts, floods of sign-ins) over a line of one gigabit, without a proxy and behind each one that
`deploy/` configures. The attack and the prober run on one core, the attack only while that is idle, the
prober before all others: on another machine they would take none of the service's. Proxies speak plain HTTP:
what TLS costs is theirs. `--attack` and `--proxy` choose rounds; one takes less than a minute.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import NamedTuple

from bench._attackers import HOST, NAMES, attacking
from bench._stored_links import is_worker
from bench.redirects import TIMES, before_others, make_link, on_core, require_programs
from tests.proxies import WRITERS, running
from tests.server import BROWSER, Server

ANSWERED, P99_MS, MOST_MIB, AFTER = 0.999, 50.0, 512, 1.2
NO_PROXY = "none"
PROBES = 8
WARM_UP_SECONDS, GRACE_SECONDS, AFTER_SECONDS = 2, 30, 30
SAMPLE_SECONDS = 0.25
MIB = 1024 * 1024
TABLE = "{:<14} {:<6} {:>16} {:>16} {:>9} {:>22} {:>5}  {}"
PACED = "function delay() return 10 end\n"


class Latency(NamedTuple):
    """Latency of redirects as wrk measured it. `share`: the answered part of all requests."""

    p50_ms: float
    p99_ms: float
    share: float

    def __str__(self) -> str:
        return f"{self.p50_ms:.1f} / {self.p99_ms:.1f}"


class Memory(NamedTuple):
    """MiB of the largest web process. `after`: the process that grew most, relative to its size before."""

    before: float
    most: float
    after: float

    def __str__(self) -> str:
        return f"{self.before:.0f} / {self.most:.0f} / {self.after:.0%}"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--attack", choices=NAMES, action="append", help="these alone")
    parser.add_argument("--proxy", choices=[NO_PROXY, *WRITERS], action="append", help="these alone")
    parser.add_argument("--seconds", type=int, default=6, help="of load in quiet, and under attack")
    parser.add_argument("--connections", type=int, default=500)
    parser.add_argument("--processes", default="2", help="web processes")
    options = parser.parse_args()
    proxies = options.proxy or [NO_PROXY, *WRITERS]
    require_programs("wrk", *(name for name in proxies if name != NO_PROXY))
    print(
        TABLE.format(
            "attack",
            "proxy",
            "quiet p50/p99 ms",
            "under p50/p99 ms",
            "answered",
            "MiB before/most/after",
            "load",
            "answers to the attack",
        )
    )
    missed = []
    for proxy in proxies:
        with tempfile.TemporaryDirectory() as place, serving(Path(place), proxy, options.processes) as served:
            for attack in options.attack or NAMES:
                missed += measure(Round(attack, proxy, *served), options.connections, options.seconds)
    if missed:
        sys.exit("\n".join(["MISSED:", *missed]))


@contextmanager
def serving(directory: Path, proxy: str, processes: str) -> Iterator[tuple[Server, int]]:
    """Waypost with a link, and the port at which visitors come."""
    trusted = "0" if proxy == NO_PROXY else "1"
    server = Server(directory / "data", API_RATE_LIMIT="0", PROCESSES=processes, TRUSTED_PROXIES=trusted)
    with ExitStack() as started:
        started.callback(server.stop)
        make_link(server.start())
        with attacking("sign-ins", server.port, PROBES):  # allocations of the first requests are no growth
            time.sleep(WARM_UP_SECONDS)
        if proxy == NO_PROXY:
            yield server, server.port
        else:
            yield server, started.enter_context(running(proxy, directory, server.port)).port


class Round(NamedTuple):
    attack: str
    proxy: str
    server: Server
    port: int


def measure(one: Round, connections: int, seconds: int) -> list[str]:
    """Print what was measured. Returns what missed its target."""
    probe(one, 1)  # the first second is not measured
    quiet = probe(one, seconds)
    pids = web_processes(one.server)
    before = {pid: mib(pid) for pid in pids}
    with attacking(one.attack, one.port, connections) as answers:
        time.sleep(WARM_UP_SECONDS)
        with weighing(pids) as most:
            under = probe(one, seconds)
    memory = Memory(max(before.values()), max(most), shrink(before))
    print(
        TABLE.format(
            one.attack,
            one.proxy,
            str(quiet),
            str(under),
            f"{under.share:.3%}",
            str(memory),
            f"{os.getloadavg()[0]:.1f}",
            describe(answers, seconds + WARM_UP_SECONDS),
        ),
        flush=True,
    )
    targets = {
        f"{under.share:.3%} answered": under.share >= ANSWERED,
        f"p99 {under.p99_ms:.1f} ms": under.p99_ms <= P99_MS,
        f"{memory.most:.0f} MiB": memory.most <= MOST_MIB,
        f"{memory.after:.0%} of the memory after": memory.after <= AFTER,
    }
    return [f"{one.attack}, {one.proxy}: {name}" for name, is_met in targets.items() if not is_met]


def describe(answers: Counter[str], seconds: int) -> str:
    return (
        ", ".join(f"{status} {count / seconds:,.0f}/s" for status, count in answers.most_common(4)) or "none"
    )


def probe(one: Round, seconds: int) -> Latency:
    """Measure hot redirects at a moderate rate."""
    script = one.server.data_dir.with_name("paced.lua")
    script.write_text(PACED)
    command = [
        "wrk",
        "-t1",
        f"-c{PROBES}",
        f"-d{seconds}s",
        "--timeout",
        "10s",
        "--latency",
        "-s",
        str(script),
    ]
    command += ["-H", f"User-Agent: {BROWSER}", "-H", f"Host: {HOST}", f"http://127.0.0.1:{one.port}/hot"]
    with on_core(0), before_others():
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=seconds + GRACE_SECONDS
        )
    return read(done.stdout)


def read(output: str) -> Latency:
    options = int(number(output, r"(\d+) requests in"))
    failed = number(output, r"Non-2xx or 3xx responses: (\d+)")
    lost = sum(
        number(output, rf"Socket errors: .*{kind} (\d+)") for kind in ("connect", "read", "write", "timeout")
    )
    share = (options - failed) / (options + lost) if options else 0.0
    return Latency(percentile(output, "50"), percentile(output, "99"), share)


def number(output: str, pattern: str) -> float:
    found = re.search(pattern, output)
    return float(found[1]) if found else 0.0


def percentile(output: str, name: str) -> float:
    found = re.search(rf"\b{name}%\s+([\d.]+)(us|ms|s|m)\b", output)
    if not found:
        sys.exit(f"wrk said what is not understood:\n{output}")
    return float(found[1]) * {**TIMES, "m": 60_000.0}[found[2]]


# --- memory of web processes


def web_processes(server: Server) -> list[int]:
    assert server.process is not None
    tasks = Path(f"/proc/{server.process.pid}/task").glob("*/children")
    pids = [int(pid) for path in tasks for pid in path.read_text().split()]
    return [pid for pid in pids if not is_worker(Path(f"/proc/{pid}"))]


def mib(pid: int) -> float:
    """The resident memory of the process, shared pages included."""
    return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / MIB


@contextmanager
def weighing(pids: Sequence[int]) -> Iterator[list[float]]:
    """Collects the size of the largest process inside the block."""
    found, is_over = [max(map(mib, pids))], threading.Event()

    def run() -> None:
        while not is_over.wait(SAMPLE_SECONDS):
            found.append(max(map(mib, pids)))

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield found
    finally:
        is_over.set()
        thread.join()


def shrink(before: dict[int, float]) -> float:
    """The size relative to that before, as soon as it is small enough again, or after a while."""
    deadline = time.monotonic() + AFTER_SECONDS
    while (
        ratio := max(mib(pid) / size for pid, size in before.items())
    ) > AFTER and time.monotonic() < deadline:
        time.sleep(SAMPLE_SECONDS)
    return ratio


if __name__ == "__main__":
    main()
