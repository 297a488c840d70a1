"""Click limits under a rush: exactly N of a thousand must get through in each run. `python -m bench.limits`

Two web processes, a thousand visitors who connect first and then ask at once, a new link for each run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

from tests.crowds import Owner, visit_at_once
from tests.server import Server

LIMITS = (1, 2, 10, 100)
VISITORS = 1000
THERE = "https://example.com/there"


def run(owner: Owner, limit: int, number: int) -> tuple[int, int, float]:
    """How many got through, the value of `clicks` right after, and the seconds it took."""
    link_id = owner.make_link(url=f"limit-{limit}-{number}", location_url=THERE, clicks_limit=limit)
    begun = time.perf_counter()
    answers = visit_at_once(owner.server.port, f"/limit-{limit}-{number}", VISITORS)
    return answers[302, THERE], owner.clicks(link_id), time.perf_counter() - begun


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=20, help="of each limit")
    options = parser.parse_args()
    wrong = 0
    with tempfile.TemporaryDirectory() as place:
        server = Server(Path(place) / "data", PROCESSES="2", API_RATE_LIMIT="0").start()
        owner = Owner(server)
        for limit in (*LIMITS, VISITORS):
            found = [run(owner, limit, number) for number in range(options.runs)]
            wrong += sum(passed != limit or clicks != limit for passed, clicks, _ in found)
            spent = sorted(seconds for *_, seconds in found)[len(found) // 2]
            exact = sum(passed == clicks == limit for passed, clicks, _ in found)
            print(f"limit {limit:>5}: {exact} of {len(found)} runs exact, {VISITORS / spent:,.0f} visits/s")
        server.stop()
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
