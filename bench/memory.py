"""Memory of a web process: `python -m bench.memory` opens links a million times and measures its size.

Random aliases out of 1,000,000 links fill every cache of the process. They are requested by 1,000 agents.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path

from bench._stored_links import store, web_process
from bench.redirects import load, require_programs, running_server
from bench.targeting import requests
from tests.crowds import Owner
from tests.server import Server

MOST_MIB, GROWTH_MIB, LINKS = 256, 16, 1_000_000
MIB = 1024 * 1024
SCRIPT = """
local texts = {
%s
}
math.randomseed(1)
function request()
    local alias = string.format("k%%07d", math.random(0, %d))
    return (string.gsub(texts[math.random(1, #texts)], "ALIAS", alias, 1))
end
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--visits", type=int, default=1_000_000)
    parser.add_argument("--seconds", type=int, default=5, help="of load between two weighings")
    options = parser.parse_args()
    require_programs("wrk")
    with tempfile.TemporaryDirectory() as place, running_server(Path(place)) as server:
        Owner(server)
        store(server.data_dir / "main.db", LINKS)
        weights = weighed(server, Path(place), options.visits, options.seconds)
    report(weights)


def weighed(server: Server, directory: Path, visits: int, seconds: int) -> list[tuple[int, float]]:
    """After each part: the visits so far, and the size of the web process in MiB."""
    found = [(0, settled(server))]
    print(f"{0:>10,} visits {found[0][1]:>7.0f} MiB, a million links read ahead of them", flush=True)
    script = directory / "memory.lua"
    texts = ",\n".join(map(json.dumps, requests("ALIAS", server.port)))
    script.write_text(SCRIPT % (texts, LINKS - 1))
    while found[-1][0] < visits:
        done = load(server.url, seconds, script)
        if done.failed:
            sys.exit(f"WRONG: {done.failed} answers failed")
        found.append((found[-1][0] + done.answers, size(server)))
        print(f"{found[-1][0]:>10,} visits {found[-1][1]:>7.0f} MiB", flush=True)
    return found


def settled(server: Server) -> float:
    """The size once the process has read the links that it reads in advance."""
    before = 0.0
    while (now := size(server)) > before + 0.5:
        before = now
        time.sleep(3)
    return now


def size(server: Server) -> float:
    """The resident memory of the web process, shared pages included, in MiB."""
    pages = int((web_process(server) / "statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE") / MIB


def report(found: list[tuple[int, float]]) -> None:
    """Print the result and exit with an error above the targets. Memory must not grow in the second half."""
    visits, last = found[-1]
    middle = next(weight for count, weight in found if count >= visits / 2)
    grown = last - middle
    print(f"{last:.0f} MiB after {visits:,} visits (at most {MOST_MIB}), {grown:+.1f} in the second half")
    if last > MOST_MIB or grown > GROWTH_MIB:
        sys.exit("ABOVE TARGET")


if __name__ == "__main__":
    main()
