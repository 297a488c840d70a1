"""Response time of QR codes, beside that of a plain API answer: `python -m bench.qr` starts a server."""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

from bench.api import Line
from tests.crowds import Owner
from tests.server import Server

TARGET_MS = 5.0
ROUNDS = 300
QUERIES = ("format=svg", "format=png", "format=png&size=1024", "format=png&size=2048&dark=%230b6e66")


def median_ms(line: Line, path: str) -> float:
    spent = []
    for _ in range(ROUNDS):
        begun = time.perf_counter()
        status, _ = line.ask("GET", path)
        spent.append((time.perf_counter() - begun) * 1000)
        assert status == 200, path
    return sorted(spent)[ROUNDS // 2]


def main() -> int:
    missed = 0
    with tempfile.TemporaryDirectory() as place:
        server = Server(Path(place) / "data", API_RATE_LIMIT="0", BASE_URL="https://go.example").start()
        owner = Owner(server)
        link_id = owner.make_link(url="abcdefg", location_url="https://example.com/")
        line = Line(server.port, str(owner.session.headers["Authorization"]).removeprefix("Bearer "))
        plain = median_ms(line, "/api/user")
        print(f"{'/api/user':<44}{plain:>7.2f} ms")
        for query in QUERIES:
            found = median_ms(line, f"/api/links/{link_id}/qr?{query}")
            missed += found > TARGET_MS
            verdict = "" if found <= TARGET_MS else "  ABOVE TARGET"
            print(f"{query:<44}{found:>7.2f} ms  {found / plain:>5.1f} × plain{verdict}")
        server.stop()
    return int(missed > 0)


if __name__ == "__main__":
    sys.exit(main())
