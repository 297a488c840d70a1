"""Compact in-memory rows for links without options (60 bytes each).

A compiled link takes a kilobyte. Most links have no options, and a few words hold all of such a link. This
cache saves the look-up in the database, which costs more than all the rest of a visit.
"""

# see docs/decisions/2026-11-21-a-shelf-of-links.md
from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from app.redirects.location import PLAIN
from app.redirects.queries import OF_EACH

SHELVES = 262_144
HTTP = "http"  # all destinations here begin with it
MAX_LINKS = 1_000_000  # of the usual length: as many as `MAX_BYTES` hold
MAX_BYTES = 56 * 1024 * 1024  # of all lines
NUMBERS = ("id", "workspace_id", "http_status_code", "password_version")


class RowCache:
    """Rows of links without options, by domain and alias. When it is full, a bucket drops its oldest half.

    One line a link, a few lines in each `bytes`, which is replaced and never changed: reading needs no lock.
    """

    def __init__(self) -> None:
        self.lines = [b"\n"] * SHELVES
        self.size = 0
        self.drops = 0  # how often a whole domain, or all, was dropped

    def get(self, domain_id: int, alias: str) -> dict[str, Any] | None:
        key = key_of(domain_id, alias)
        lines = self.lines[hash(key) % SHELVES]
        start = lines.find(key)
        if start < 0:
            return None
        words = lines[start + len(key) : lines.index(b"\n", start + 1)].decode().split("\t")
        id_, workspace_id, status, version, url, location_url = words
        return {
            "domain_id": domain_id,
            "id": int(id_),
            "workspace_id": int(workspace_id),
            "http_status_code": int(status),
            "password_version": int(version),
            "url": url or alias,
            "location_url": HTTP + location_url,
        }

    def put(self, alias: str, row: Mapping[str, Any]) -> None:
        """Keep a row, if it has no options and a destination that is sent unchanged."""
        if len(row) != len(OF_EACH) or not PLAIN.fullmatch(row["location_url"]):
            return
        self.remove(row["domain_id"], alias)
        key = key_of(row["domain_id"], alias)
        url = "" if row["url"] == alias else row["url"]
        words = [*(str(row[name]) for name in NUMBERS), url, row["location_url"].removeprefix(HTTP)]
        lines = self.lines[hash(key) % SHELVES]
        kept = lines if self.size < MAX_BYTES else newer_half(lines)
        self.store_lines(key, b"%b%b%b\n" % (kept, key[1:], "\t".join(words).encode()))

    def remove(self, domain_id: int, alias: str) -> None:
        key = key_of(domain_id, alias)
        lines = self.lines[hash(key) % SHELVES]
        start = lines.find(key)
        if start >= 0:
            self.store_lines(key, lines[:start] + lines[lines.index(b"\n", start + 1) :])

    def store_lines(self, key: bytes, lines: bytes) -> None:
        number = hash(key) % SHELVES
        self.size += len(lines) - len(self.lines[number])
        self.lines[number] = lines

    def drop(self, domain_id: int | None) -> None:
        """Drop all links of a domain; with None, all links."""
        start = b"\n" if domain_id is None else b"\n%d/" % domain_id
        self.lines = [without(lines, start) if start in lines else lines for lines in self.lines]
        self.size = sum(map(len, self.lines)) - SHELVES
        self.drops += 1


def key_of(domain_id: int, alias: str) -> bytes:
    """The start of a link's line. No alias contains a tab or a line end."""
    return b"\n%d/%b\t" % (domain_id, alias.encode())


def without(lines: bytes, start: bytes) -> bytes:
    kept = [line for line in lines.split(b"\n")[1:-1] if not (b"\n" + line).startswith(start)]
    return b"".join([b"\n", *(line + b"\n" for line in kept)])


def newer_half(lines: bytes) -> bytes:
    return lines[lines.index(b"\n", len(lines) // 2) :]
