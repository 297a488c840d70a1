"""Time of a find and replace in 200 destinations: `python -m bench.bulk_edit`

An owner selects 200 of 100,000 links in the list, asks for the preview, applies it, undoes it. Each part is
timed from its first request to its last answer, without the socket: Flask's test client asks the real
application, and sends the next request of work that takes several as a browser does. The same is done once
with all links, of which one in five has what is replaced. `--postgres` uses a temporary PostgreSQL.
"""

from __future__ import annotations

import argparse
import html
import json
import re
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from werkzeug.test import TestResponse

from app import create_app
from app.core.config import load_settings
from bench.list import Asker, fill, own_postgres
from tests.migrations import environ

LINKS, TARGET_SECONDS = 200, 10
GO = "/dashboard/links/many/go"
HIDDEN = re.compile(r'<input type="hidden" name="([^"]+)" value="([^"]*)">')
FIND = {"find": "example.com", "replace": "example.org", "in_location_url": "1", "host_only": "1"}
Fields = Mapping[str, list[str]]


class Took(NamedTuple):
    """One part of the work: how long it took, and the longest of its requests."""

    name: str
    seconds: float
    requests: int
    longest: float


class Worker:
    """Sends the requests of a bulk edit, and goes on where an answer says so."""

    def __init__(self, asker: Asker) -> None:
        self.asker = asker

    def send(self, path: str, fields: Mapping[str, object]) -> TestResponse:
        data = {**fields, "csrf_token": self.asker.csrf}
        answer = self.asker.client.post(path, data=data, headers={"HX-Request": "true"})
        if answer.status_code != 200:
            raise RuntimeError(f"{path}: {answer.status_code} {answer.text[:300]}")
        return answer

    def timed(self, name: str, path: str, fields: Mapping[str, object]) -> tuple[Took, TestResponse]:
        """The time until the answer is no page that sends the next request by itself."""
        times: list[float] = []
        while True:
            began = time.perf_counter()
            answer = self.send(path, fields)
            times.append(time.perf_counter() - began)
            if "<progress" not in answer.text:
                return Took(name, sum(times), len(times), max(times)), answer
            path, fields = GO, hidden(answer.text)

    def replace(self, selected: Mapping[str, object], upto: str) -> Iterator[Took]:
        """Preview, apply and undo. With `upto` "preview" nothing is changed."""
        page = self.send("/dashboard/links/many", {"do": "replace", **selected}).text
        took, answer = self.timed("preview", GO, {**hidden(page), **FIND})
        yield took
        if upto == "preview":
            return
        took, answer = self.timed("apply", GO, {**hidden(answer.text), "apply": "1"})
        yield took
        undo = json.loads(answer.headers["HX-Trigger"])["toast-undo"]["undo"]
        yield self.timed("undo", undo, {})[0]


def hidden(page: str) -> Fields:
    found: dict[str, list[str]] = {}
    for name, value in HIDDEN.findall(page):
        found.setdefault(name, []).append(html.unescape(value))
    return found


def report(title: str, parts: Iterator[Took]) -> float:
    total = 0.0
    for part in parts:
        total += part.seconds
        print(
            f"{title:<16}{part.name:<10}{part.seconds:>8.2f} s in {part.requests} requests, "
            f"the longest {part.longest * 1000:.0f} ms",
            flush=True,
        )
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--links", type=int, default=100_000)
    parser.add_argument("--postgres", action="store_true")
    options = parser.parse_args()
    with ExitStack() as stack:
        data_dir = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        url = stack.enter_context(own_postgres()) if options.postgres else ""
        settings = load_settings(environ(data_dir, url, API_RATE_LIMIT="0"))
        key = fill(settings, options.links)
        worker = Worker(Asker(create_app(settings).test_client(), key, options.links))
        ids = ",".join(str(id_) for id_ in range(1, LINKS + 1))
        took = report(f"{LINKS} links", worker.replace({"ids": ids}, "undo"))
        report(f"{options.links:,} links", worker.replace({"all": "1", "query": ""}, "preview"))
    print(f"{LINKS} destinations: {took:.2f} s with the preview and the undo (at most {TARGET_SECONDS})")
    if took > TARGET_SECONDS:
        sys.exit("BELOW TARGET")


if __name__ == "__main__":
    main()
