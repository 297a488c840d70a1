"""Memory and processor time of an instance that has nothing to do: `python -m bench.idle`

The whole service runs, two web processes and the worker, and has nothing to answer and nothing to ingest. Its
memory is that of all processes, with what they share counted once.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from bench.soak import family, memory
from tests.server import Server, wait_for

MOST_MIB, MOST_SHARE = 250, 0.01
SETTLED_SECONDS, PROCESSES = 10, 4


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=30, help="for which processor time is measured")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        server = Server(Path(place) / "data", PROCESSES="2").start()
        try:
            measure(server, options.seconds)
        finally:
            server.stop()


def measure(server: Server, seconds: int) -> None:
    """Print the figures, and exit with an error above the targets."""
    assert server.process is not None
    main_process = server.process.pid
    wait_for(lambda: len(list(family(main_process))) == PROCESSES, "all processes")
    time.sleep(SETTLED_SECONDS)
    before = {pid: processor_seconds(pid) for pid in family(main_process)}
    began = time.monotonic()
    time.sleep(seconds)
    elapsed = time.monotonic() - began
    shares = {pid: (processor_seconds(pid) - spent) / elapsed for pid, spent in before.items()}
    for pid, share in shares.items():
        print(f"{Path(f'/proc/{pid}/comm').read_text().strip():<20}{share:>8.2%} of a core")
    size, total = memory(server), sum(shares.values())
    print(f"{total:.2%} of a core (at most {MOST_SHARE:.0%}), {size:.0f} MiB (at most {MOST_MIB})")
    if total > MOST_SHARE or size > MOST_MIB:
        sys.exit("ABOVE TARGET")


def processor_seconds(pid: int) -> float:
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(path.read_text().split()[0]) for path in threads) / 1e9


if __name__ == "__main__":
    main()
