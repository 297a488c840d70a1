"""Where do a million links wait in little room?

A plan takes a kilobyte; most links have nothing set but where they lead, and of such a one a few words are
all that there is to know. They take 60 bytes here, and save the look-up in the database, which costs more
than all the rest of a visit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.visits.address import PLAIN
from app.visits.selects import OF_EACH

SHELVES = 262_144
HTTP = "http"  # which all begin with
MOST = 56 * 1024 * 1024  # bytes on all of them: a million links of the usual length
NUMBERS = ("id", "user_id", "http_status_code", "password_version")


class Shelf:
    """Rows of links with nothing set, by domain and alias. Where all is full, a shelf loses what came first.

    One line a link, a few of them in a `bytes` that is never changed but replaced: to read takes no lock.
    """

    def __init__(self) -> None:
        self.lines = [b"\n"] * SHELVES
        self.size = 0
        self.drops = 0  # how often much was taken away at once

    def get(self, domain_id: int, alias: str) -> dict[str, Any] | None:
        key = key_of(domain_id, alias)
        lines = self.lines[hash(key) % SHELVES]
        start = lines.find(key)
        if start < 0:
            return None
        words = lines[start + len(key) : lines.index(b"\n", start + 1)].decode().split("\t")
        id_, user_id, status, version, url, location_url = words
        return {
            "domain_id": domain_id,
            "id": int(id_),
            "user_id": int(user_id),
            "http_status_code": int(status),
            "password_version": int(version),
            "url": url or alias,
            "location_url": HTTP + location_url,
        }

    def put(self, alias: str, row: Mapping[str, Any]) -> None:
        """Keep a row, if it is one with nothing set and an address that leaves as it is."""
        if len(row) != len(OF_EACH) or not PLAIN.fullmatch(row["location_url"]):
            return
        self.remove(row["domain_id"], alias)
        key = key_of(row["domain_id"], alias)
        url = "" if row["url"] == alias else row["url"]
        words = [*(str(row[name]) for name in NUMBERS), url, row["location_url"].removeprefix(HTTP)]
        lines = self.lines[hash(key) % SHELVES]
        kept = lines if self.size < MOST else newer_half(lines)
        self.place(key, b"%b%b%b\n" % (kept, key[1:], "\t".join(words).encode()))

    def remove(self, domain_id: int, alias: str) -> None:
        key = key_of(domain_id, alias)
        lines = self.lines[hash(key) % SHELVES]
        start = lines.find(key)
        if start >= 0:
            self.place(key, lines[:start] + lines[lines.index(b"\n", start + 1) :])

    def place(self, key: bytes, lines: bytes) -> None:
        number = hash(key) % SHELVES
        self.size += len(lines) - len(self.lines[number])
        self.lines[number] = lines

    def drop(self, domain_id: int | None) -> None:
        """All links of a domain, or with None all links."""
        start = b"\n" if domain_id is None else b"\n%d/" % domain_id
        self.lines = [without(lines, start) if start in lines else lines for lines in self.lines]
        self.size = sum(map(len, self.lines)) - SHELVES
        self.drops += 1


def key_of(domain_id: int, alias: str) -> bytes:
    """How a link's line begins. No alias holds a tab or the end of a line."""
    return b"\n%d/%b\t" % (domain_id, alias.encode())


def without(lines: bytes, start: bytes) -> bytes:
    kept = [line for line in lines.split(b"\n")[1:-1] if not (b"\n" + line).startswith(start)]
    return b"".join([b"\n", *(line + b"\n" for line in kept)])


def newer_half(lines: bytes) -> bytes:
    return lines[lines.index(b"\n", len(lines) // 2) :]
