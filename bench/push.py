"""Clicks pushed to a webhook in batches, and redirects beside it: `python -m bench.push`

The whole service, one web process and the worker, runs on one core; wrk and the receiver, which are other
machines in truth, on the other. wrk asks for redirects at a moderate rate (some 2,000 a second). In every
other round a webhook is subscribed to all clicks; its receiver, in this process, counts. Rounds with and
without take turns and are compared with each other.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from app.journal.codec import encode
from bench.ingest import visits
from bench.ingest_beside import Flood
from bench.notifications import Receivers, receivers
from bench.redirects import Load, clicks, load, on_core, require_programs, running_server
from tests.crowds import Owner
from tests.server import Server, wait_for

RATE, WORSE, LAG_SECONDS = 2000, 1.2, 5.0
COLUMNS = "{:<22}{:>14}{:>10}{:>14}{:>12}{:>10}"
# 32 connections that each rest 15 ms between two requests
CALM = "function delay() return 15 end\n"


def received(sink: Receivers) -> list[int]:
    """The number of clicks in each batch."""
    return [len(said["data"]["clicks"]) for _, said in sink.at("/all")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=5, help="of each round")
    parser.add_argument("--rounds", type=int, default=9)
    options = parser.parse_args()
    require_programs("wrk")
    with (
        tempfile.TemporaryDirectory() as place,
        running_server(Path(place), ALLOW_PRIVATE_NETWORKS="127.0.0.0/8") as server,
        on_core(0),
        receivers() as sink,
    ):
        script = Path(place) / "calm.lua"
        script.write_text(CALM)
        owner = Owner(server)
        owner.make_link(url="hot", location_url="https://example.com/a/page?x=1")
        load(f"{server.url}/hot", 1, script)  # the first second is not measured
        report(server, owner, sink, script, options.seconds, options.rounds)


def subscribe(owner: Owner, url: str) -> str:
    fields = {"target_url": url, "events": ["link.clicked"]}
    answer = owner.session.post(f"{owner.site}/subscriptions", json=fields, timeout=30)
    answer.raise_for_status()
    return f"{owner.site}/subscriptions/{answer.json()['data']['id']}"


def pushed(server: Server, owner: Owner, sink: Receivers, script: Path, seconds: int) -> tuple[Load, Any]:
    """wrk's figures, how many clicks a second arrived, and how long after the last one all had."""
    time.sleep(2)
    subscription = subscribe(owner, sink.url("/all"))
    before, counted, begun = sum(received(sink)), clicks(server), time.monotonic()
    seen = load(f"{server.url}/hot", seconds, script)
    over = time.monotonic()
    arrived = sum(received(sink)) - before
    wait_for(lambda: clicks(server) - counted >= seen.answers, "the counters")
    wait_for(lambda: sum(received(sink)) - before >= clicks(server) - counted, "all clicks", 120)
    lag = time.monotonic() - over
    if sum(received(sink)) - before != clicks(server) - counted:
        sys.exit("WRONG: another number arrived than was counted")
    owner.session.delete(subscription, timeout=30).raise_for_status()
    return seen, (arrived / (over - begun), lag)


def flooded(server: Server, owner: Owner, sink: Receivers, seconds: int) -> float:
    """Write RATE clicks a second into the journal, as more web processes would. Returns the seconds after the
    last one until all had arrived."""
    moment = int(time.time() * 1000)
    lines = [
        encode(visit._replace(link_id=1, workspace_id=1, time_ms=moment + number // 2))
        for number, visit in enumerate(visits(RATE, 1))
    ]
    subscription, before = subscribe(owner, sink.url("/all")), sum(received(sink))
    with Flood(server, lines, RATE) as flood:
        time.sleep(seconds)
    over = time.monotonic()
    at_end = sum(received(sink)) - before
    wait_for(lambda: sum(received(sink)) - before >= flood.written, "all clicks", 120)
    behind = time.monotonic() - over
    print(f"{flood.written:,} clicks at {RATE:,} a second: {at_end:,} had come, all {behind:.1f} s later")
    owner.session.delete(subscription, timeout=30).raise_for_status()
    return behind


def report(server: Server, owner: Owner, sink: Receivers, script: Path, seconds: int, rounds: int) -> None:
    print(COLUMNS.format("", "redirects/s", "p99 ms", "arrived/s", "all after s", "batch"))
    calms, busies, rates, lags = [], [], [], []
    for _ in range(rounds):
        calm = load(f"{server.url}/hot", seconds, script)
        print(COLUMNS.format("without", f"{calm.rate:,.0f}", f"{calm.p99_ms:.2f}", "", "", ""))
        busy, (rate, lag) = pushed(server, owner, sink, script, seconds)
        most = max(received(sink))
        figures = f"{busy.rate:,.0f}", f"{busy.p99_ms:.2f}", f"{rate:,.0f}", f"{lag:.1f}", most
        print(COLUMNS.format("with a webhook", *figures))
        calms.append(calm.p99_ms)
        busies.append(busy.p99_ms)
        rates.append(rate)
        lags.append(lag)
    # Medians: rounds take turns, so other load meets both kinds. The best of each was tried: one lucky round
    # without a webhook (0.7 ms where eight had 0.9 to 1.5) decided.
    calm_ms, busy_ms = statistics.median(calms), statistics.median(busies)
    ratio, rate, lag = busy_ms / calm_ms, statistics.median(rates), statistics.median(lags)
    behind = flooded(server, owner, sink, 2 * seconds)
    print(f"medians of {rounds}: {rate:,.0f} clicks/s while they came, all {lag:.1f} s after the last")
    print(f"p99 {busy_ms:.2f} ms with, {calm_ms:.2f} ms without: {ratio:.2f} times (at most {WORSE})")
    if ratio > WORSE or max(lag, behind) > LAG_SECONDS:
        sys.exit("BELOW TARGET")


if __name__ == "__main__":
    main()
