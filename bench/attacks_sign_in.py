"""Do floods of sign-ins slow redirects? `python -m bench.attacks_sign_in`

wrk opens a plain link at a moderate pace: alone, and beside 120 and 240 connections that try to sign in
again and again, each time from another network and for another account, so that no rate limit helps.
The flood has the form's token, as any client can. It runs on the load's core, the service on another.
"""

from __future__ import annotations

import argparse
import re
import statistics
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import requests

from bench.redirects import TIMES, make_link, need, on_core, started
from tests.server import BROWSER, Server

RATIO = 2.0  # of the p99 beside a flood to the p99 alone
FLOODS = (120, 240)
WARM_UP_SECONDS, GRACE_SECONDS = 3, 30
TABLE = "{:<24}{:>10}{:>10}{:>12}{:>12}{:>12}"

PACED = """
function delay() return 10 end
"""
FLOOD = """
local number = 0
local threads = {{}}
function setup(thread) table.insert(threads, thread) end
function init() wrong, busy, other = 0, 0, 0 end
function request()
  number = number + 1
  wrk.headers["X-Forwarded-For"] = string.format("10.%d.%d.%d", math.floor(number / 65536) % 256,
    math.floor(number / 256) % 256, number % 256)
  local email = "u" .. number .. "%40example.com"
  return wrk.format("POST", "/login", nil, "csrf_token={token}&password=a+wrong+guess&email=" .. email)
end
function response(status)
  if status == 403 then wrong = wrong + 1 elseif status == 503 then busy = busy + 1 else other = other + 1 end
end
function done()
  for _, thread in ipairs(threads) do
    print("statuses " .. thread:get("wrong") .. " " .. thread:get("busy") .. " " .. thread:get("other"))
  end
end
"""


class Latency:
    """What wrk saw of redirects."""

    def __init__(self, output: str) -> None:
        self.p50_ms, self.p99_ms = (self.percentile(output, name) for name in ("50", "99"))
        failed = re.search(r"Non-2xx or 3xx responses: (\d+)", output)
        timeouts = re.search(r"Socket errors: .*timeout (\d+)", output)
        self.failed = sum(int(found[1]) for found in (failed, timeouts) if found)

    @staticmethod
    def percentile(output: str, name: str) -> float:
        found = re.search(rf"\b{name}%\s+([\d.]+)(us|ms|s|m)\b", output)
        if not found:
            sys.exit(f"wrk said what is not understood:\n{output}")
        return float(found[1]) * {**TIMES, "m": 60_000.0}[found[2]]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--seconds", type=int, default=6, help="of load in each round")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--processes", default="1", help="web processes")
    asked = parser.parse_args()
    need("wrk")
    with tempfile.TemporaryDirectory() as directory:
        settings = {"TRUSTED_PROXIES": "1", "PROCESSES": asked.processes}
        with started(Path(directory), **settings) as server:
            make_link(server)
            report(server, Path(directory), asked.seconds, asked.rounds)


def report(server: Server, directory: Path, seconds: int, rounds: int) -> None:
    print(TABLE.format("", "p50 ms", "p99 ms", "checked/s", "busy/s", "other/s"))
    probe(server, directory, 1)  # the first second is nobody's figure
    ratios: dict[int, list[float]] = {connections: [] for connections in FLOODS}
    for _ in range(rounds):
        alone = probe(server, directory, seconds)
        show("alone", alone, Counter(), 1)
        for connections in FLOODS:
            with flood(server, directory, connections, seconds + WARM_UP_SECONDS) as statuses:
                beside = probe(server, directory, seconds)
            show(f"beside {connections} sign-ins", beside, statuses, seconds + WARM_UP_SECONDS)
            ratios[connections].append(beside.p99_ms / alone.p99_ms)
    found = {connections: statistics.median(each) for connections, each in ratios.items()}
    print(", ".join(f"{name} sign-ins: {ratio:.2f} of the p99 alone" for name, ratio in found.items()))
    if max(found.values()) > RATIO:
        sys.exit(f"ABOVE TARGET: at most {RATIO}")


def show(name: str, latency: Latency, statuses: Counter[str], seconds: int) -> None:
    rates = [f"{statuses[kind] / seconds:,.0f}" if statuses else "" for kind in ("wrong", "busy", "other")]
    print(TABLE.format(name, f"{latency.p50_ms:.2f}", f"{latency.p99_ms:.2f}", *rates))
    if latency.failed:
        sys.exit(f"WRONG: {latency.failed} redirects were not answered")


def probe(server: Server, directory: Path, seconds: int) -> Latency:
    script = directory / "paced.lua"
    script.write_text(PACED)
    command = ["wrk", "-t1", "-c8", f"-d{seconds}s", "--timeout", "20s", "--latency"]
    command += ["-H", f"User-Agent: {BROWSER}", "-s", str(script), f"{server.url}/hot"]
    with on_core(0):
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=seconds + GRACE_SECONDS
        )
    return Latency(done.stdout)


@contextmanager
def flood(server: Server, directory: Path, connections: int, seconds: int) -> Iterator[Counter[str]]:
    """Sign-ins while this lasts; afterwards it is known how many got which answer."""
    page = requests.get(f"{server.url}/login", timeout=GRACE_SECONDS)
    token = re.search(r'name="csrf_token" value="([^"]+)"', page.text)
    if not token:
        sys.exit("the sign-in page has no token")
    script, statuses = directory / "flood.lua", Counter[str]()
    script.write_text(FLOOD.format(token=token[1]))
    cookie = "; ".join(f"{each.name}={each.value}" for each in page.cookies)
    command = ["wrk", "-t1", f"-c{connections}", f"-d{seconds}s", "--timeout", "60s", "-s", str(script)]
    command += [
        "-H",
        f"Cookie: {cookie}",
        "-H",
        "Content-Type: application/x-www-form-urlencoded",
        server.url,
    ]
    with on_core(0):
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield statuses
    finally:
        output, _ = process.communicate(timeout=seconds + GRACE_SECONDS)
        for found in re.finditer(r"^statuses (\d+) (\d+) (\d+)$", output, re.MULTILINE):
            statuses.update(dict(zip(("wrong", "busy", "other"), map(int, found.groups()), strict=True)))


if __name__ == "__main__":
    main()
