"""Time to resolve one visit of a link with 100 targeting pairs: `python -m bench.resolve`"""

from __future__ import annotations

import datetime as dt
import statistics
import sys
import time
from collections.abc import Callable

from app.geo.lookup import Location
from app.geo.names import COUNTRIES
from app.redirects.compiled_link import CompiledLink, compile_link
from app.redirects.resolve import resolve
from app.redirects.visitor import Visitor
from tests.redirects.test_resolve import PLAIN
from tests.server import BROWSER

MOST_US, CALLS, ROUNDS = 20.0, 5_000, 15
NOW = dt.datetime(2026, 11, 21, tzinfo=dt.UTC)
BERLIN = Location("EU", "DE", "Berlin")
ENVIRON = {
    "REMOTE_ADDR": "192.0.2.1",
    "HTTP_USER_AGENT": BROWSER,
    "HTTP_ACCEPT_LANGUAGE": "de-CH,de;q=0.9,en;q=0.8",
}
OTHERS = [code for code in sorted(COUNTRIES) if code != "DE"]
# the matching pair comes last, or none matches
KEYS = {
    "country_code": [*OTHERS[:99], "DE"],
    "city_name": [*(f"Town {number}" for number in range(99)), "Berlin, DE"],
    "device_type": ["tablet"] * 99 + ["desktop"],
    "browser_language": [*(f"en-x-{number}" for number in range(99)), "en"],
    "os_name": [*(f"System {number}" for number in range(99)), "Linux"],
    "browser_name": [f"Browser {number}" for number in range(100)],
    "rotation": ["1"] * 100,
}


def main() -> None:
    slow = []
    for kind, keys in KEYS.items():
        spent = microseconds(asking(targeted(kind, keys)))
        print(f"{kind:<20}{len(keys):>4} pairs {spent:>8.1f} µs")
        slow += [kind] if spent > MOST_US else []
    if slow:
        sys.exit(f"ABOVE TARGET ({MOST_US:g} µs): {', '.join(slow)}")


def targeted(kind: str, keys: list[str]) -> CompiledLink:
    pairs = [[key, f"https://example.com/{number}?a=1#b"] for number, key in enumerate(keys)]
    columns = {**PLAIN, "targeting_type": kind, "targeting": pairs, "utm_source": "mail"}
    return compile_link(columns, frozenset({"http", "https"}))


def asking(plan: CompiledLink) -> Callable[[], object]:
    """Resolves each visit as a new request, with nothing known about the visitor yet."""
    return lambda: resolve(plan, Visitor(ENVIRON, 0, None, lambda _: BERLIN, lambda: b"key"), NOW)


def microseconds(call: Callable[[], object]) -> float:
    """The median of the rounds in processor time, which other load on the machine does not change."""
    return statistics.median(one_round(call) for _ in range(ROUNDS))


def one_round(call: Callable[[], object]) -> float:
    begun = time.process_time()
    for _ in range(CALLS):
        call()
    return (time.process_time() - begun) / CALLS * 1e6


if __name__ == "__main__":
    main()
