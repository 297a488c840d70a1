"""Speed of links with targeting beside a plain link: `python -m bench.targeting`

1,000 visitors with as many agents and addresses ask in turn. Each round puts the same load on the plain link
and on one of each kind. Geolocation comes from a file, as in an installation.
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import tempfile
from pathlib import Path

from app.geo.names import COUNTRIES
from bench.redirects import Load, load, require_programs, running_server
from tests.crowds import Owner
from tests.geo.geo_files import write_geo_file
from tests.server import Server

RATIO, PEOPLE = 0.5, 1_000
THERE = "https://example.com/a/page?x=1"
LANGUAGES = (
    "de",
    "de-CH,de;q=0.9,en;q=0.8",
    "en-US,en;q=0.5",
    "fr-FR,fr;q=0.8,en;q=0.2",
    "pt-BR,pt;q=0.9",
    "ja",
)
SYSTEMS = (
    "Windows NT 10.0; Win64; x64", "Macintosh; Intel Mac OS X 10_15_7", "X11; Linux x86_64",
    "Linux; Android 10; K", "X11; CrOS x86_64 14541.0.0",
)  # fmt: skip
FORMS = ("", " Mobile")
KEYS = {
    "country_code": sorted(COUNTRIES)[:100],
    "device_type": ["tablet", "mobile", "desktop"],
    "browser_language": ["es", "it", "pt", "fr", "de"],
    "rotation": ["50", "30", "20"],
}
SCRIPT = """
local texts = {
%s
}
local next = 0
function request()
    next = next %% #texts + 1
    return texts[next]
end
"""
LINE = "{:<20}{:>12}{:>10}{:>10}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=int, default=5, help="of load for each link in each round")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    require_programs("wrk")
    with tempfile.TemporaryDirectory() as place:
        directory = Path(place)
        geo_file = write_geo_file(directory / "geo.mmdb", places())
        with running_server(directory, TRUSTED_PROXIES="1", GEOIP_DB=str(geo_file)) as server:
            report(server, directory, options.seconds, options.rounds)


def places() -> dict[str, dict[str, object]]:
    """A country for each of the networks 1.0.0.0/16 to 1.255.0.0/16."""
    countries = sorted(COUNTRIES)
    return {
        f"1.{number}.0.0/16": {"country": {"iso_code": countries[number % len(countries)]}}
        for number in range(256)
    }


def report(server: Server, directory: Path, seconds: int, rounds: int) -> None:
    owner = Owner(server)
    owner.make_link(url="plain", location_url=THERE)
    for kind, keys in KEYS.items():
        owner.make_link(url=kind, location_url=THERE, targeting_type=kind, **pairs(kind, keys))
    scripts = {alias: written(directory, alias, server.port) for alias in ("plain", *KEYS)}
    for alias, script in scripts.items():
        load(f"{server.url}/{alias}", 1, script)  # the first second is not measured
    found = [
        {alias: load(f"{server.url}/{alias}", seconds, script) for alias, script in scripts.items()}
        for _ in range(rounds)
    ]
    print_report(found)


def pairs(kind: str, keys: list[str]) -> dict[str, list[str]]:
    values = [f"https://example.com/{kind}/{number}?a=1" for number in range(len(keys))]
    return {f"targeting_{kind}_key": keys, f"targeting_{kind}_value": values}


def written(directory: Path, alias: str, port: int) -> Path:
    """The wrk script that requests one link, as each of the visitors in turn."""
    path = directory / f"{alias}.lua"
    path.write_text(SCRIPT % ",\n".join(json.dumps(text) for text in requests(alias, port)))
    return path


def requests(alias: str, port: int) -> list[str]:
    chance = random.Random(1)
    agents = chance.sample(sorted({agent(chance) for _ in range(10 * PEOPLE)}), PEOPLE)
    heads = (
        f"GET /{alias} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nUser-Agent: {text}\r\n"
        f"X-Forwarded-For: 1.{chance.randrange(256)}.{chance.randrange(256)}.7\r\n"
        f"Accept-Language: {chance.choice(LANGUAGES)}\r\n\r\n"
        for text in agents
    )
    return list(heads)


def agent(chance: random.Random) -> str:
    system, form = chance.choice(SYSTEMS), chance.choice(FORMS)
    version = f"{chance.randrange(90, 140)}.0.{chance.randrange(100)}.0"
    return (
        f"Mozilla/5.0 ({system}) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/{version}{form} Safari/537.36"
    )


def print_report(found: list[dict[str, Load]]) -> None:
    print(LINE.format("", "answers/s", "p99 ms", "ratio"))
    slow = [alias for alias in found[0] if share_of_plain(alias, found) < RATIO]
    if failed := sum(one.failed for each in found for one in each.values()):
        sys.exit(f"WRONG: {failed} answers failed")
    if slow:
        sys.exit(f"BELOW TARGET ({RATIO} of the plain rate): {', '.join(slow)}")


def share_of_plain(alias: str, found: list[dict[str, Load]]) -> float:
    rate = statistics.median(each[alias].rate for each in found)
    p99 = statistics.median(each[alias].p99_ms for each in found)
    ratio = statistics.median(each[alias].rate / each["plain"].rate for each in found)
    print(LINE.format(alias, f"{rate:,.0f}", f"{p99:.1f}", f"{ratio:.2f}"))
    return ratio


if __name__ == "__main__":
    main()
