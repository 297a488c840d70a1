"""Shutdown under load, its duration and unanswered requests: `python -m bench.stops` stops Waypost 20 times.

Visitors ask for a hot redirect without pause; SIGTERM goes to the main process, as a service manager sends
it. Run by root, Waypost runs as an ordinary user, and in any case without capabilities. A request is
unanswered where its connection ended before its answer. After the last stop Waypost starts once more, and
each answer must be counted as a click. Visitors and Waypost share all cores, so a stop is measured on a busy
machine. (wrk can't be used: it counts connections that are refused after the end as unanswered requests.)
"""

from __future__ import annotations

import argparse
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from app.jobs.maintenance import heartbeat
from bench._crowd import visiting
from bench.attacks import web_processes
from bench.redirects import clicks, make_link, require_programs
from tests.server import SECONDS, Server, wait_for

STOPS, MAX_SECONDS = 20, 2.0
VISITOR_PROCESSES = 2
NOBODY = 65534
NO_CAPABILITIES = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")
ORDINARY_USER = (f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups")
TICK_SECONDS = 0.005
TABLE = "{:>4} {:>8} {:>10} {:>12} {:>12} {:>11}"


class Stop(NamedTuple):
    """Seconds from the signal until the web processes and then all had ended, and what visitors saw."""

    web_seconds: float
    seconds: float
    answers: int
    unanswered: int
    is_clean: bool


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--stops", type=int, default=STOPS)
    parser.add_argument("--seconds", type=float, default=2.0, help="of load before each")
    parser.add_argument("--connections", type=int, default=32)
    parser.add_argument("--processes", default="2", help="web processes")
    parsed = parser.parse_args()
    require_programs(NO_CAPABILITIES[0])
    with tempfile.TemporaryDirectory() as directory:
        server = make_server(Path(directory), parsed.processes)
        try:
            report(server, parsed.stops, parsed.connections, parsed.seconds)
        finally:
            server.stop()


def make_server(directory: Path, processes: str) -> Server:
    """Waypost with a link, run by an ordinary user without capabilities."""
    server = Server(directory / "data", PROCESSES=processes, API_RATE_LIMIT="0")
    server.data_dir.mkdir()
    server.prefix = NO_CAPABILITIES
    if os.geteuid() == 0 and is_open_to_all(Path(sys.executable)):
        directory.chmod(0o755)
        shutil.chown(server.data_dir, NOBODY, NOBODY)
        server.prefix += ORDINARY_USER
    elif os.geteuid() == 0:
        print(f"Other users can't run {sys.executable}: Waypost runs as root without capabilities.")
    make_link(server.start())
    return server


def is_open_to_all(program: Path) -> bool:
    command = ["setpriv", *ORDINARY_USER, str(program), "-c", ""]
    return subprocess.run(command, capture_output=True, check=False).returncode == 0


def report(server: Server, count: int, connections: int, seconds: float) -> None:
    print(TABLE.format("stop", "web s", "all s", "answers", "unanswered", "exit"))
    stops = []
    for position in range(1, count + 1):
        if server.process is None or server.process.poll() is not None:
            heartbeat(server.data_dir).unlink(missing_ok=True)  # so /readyz waits for the new worker
            server.start()
        one = stop_under_load(server, connections, seconds)
        stops.append(one)
        print(
            TABLE.format(
                position,
                f"{one.web_seconds:.2f}",
                f"{one.seconds:.2f}",
                f"{one.answers:,}",
                one.unanswered,
                "0" if one.is_clean else "WRONG",
            ),
            flush=True,
        )
    counted, answers = count_clicks(server, sum(one.answers for one in stops))
    conclude(stops, counted, answers)


def stop_under_load(server: Server, connections: int, seconds: float) -> Stop:
    assert server.process is not None
    with visiting(server.port, connections, VISITOR_PROCESSES) as counts:
        time.sleep(seconds)
        pids = web_processes(server)
        began = time.monotonic()
        server.process.send_signal(signal.SIGTERM)
        web_seconds = 0.0
        while server.process.poll() is None and time.monotonic() - began < SECONDS:
            web_seconds = web_seconds or (0.0 if any(map(is_alive, pids)) else time.monotonic() - began)
            time.sleep(TICK_SECONDS)
        ended = time.monotonic() - began
    is_clean = server.process.poll() == 0 and "Traceback" not in server.written()
    unanswered = counts["unanswered"] + counts["wrong"]
    return Stop(web_seconds or ended, ended, counts["answered"], unanswered, is_clean)


def is_alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


def count_clicks(server: Server, answers: int) -> tuple[int, int]:
    """Start Waypost again and let it ingest its journal. Returns the clicks, and the answers."""
    server.start()
    try:
        wait_for(lambda: clicks(server) >= answers, "the clicks", 30)
    except AssertionError as error:
        print(error)
    return clicks(server), answers


def conclude(stops: Sequence[Stop], counted: int, answers: int) -> None:
    times = [one.seconds for one in stops]
    unanswered = sum(one.unanswered for one in stops)
    print(f"{answers:,} answers, {counted:,} clicks; {unanswered} unanswered (0 allowed)")
    above = sum(time > MAX_SECONDS for time in times)
    print(
        f"{min(times):.2f} to {max(times):.2f} s, median {statistics.median(times):.2f};"
        f" {above} of {len(times)} above {MAX_SECONDS:g} s"
    )
    if unanswered or counted != answers or max(times) > MAX_SECONDS or not all(one.is_clean for one in stops):
        sys.exit("MISSED")


if __name__ == "__main__":
    main()
