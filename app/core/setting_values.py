"""Parsers of the settings' values.

Each takes the text of a setting and returns its value, or raises ValueError with what the text must be. No
message repeats a text that may hold a password.
"""

from __future__ import annotations

import importlib.util
import ipaddress
import re
from collections.abc import Callable
from pathlib import Path
from urllib.parse import SplitResult, urlsplit

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

from app.core.folders import HOME
from app.core.urls import wire_host

PREFIX = "WAYPOST_"  # of the names in the environment
MIN_SECRET = 16
MIN_TOKEN = 8
NEVER_SCHEMES = frozenset({"javascript", "data", "vbscript", "file", "blob", "about"})
SQLITE = "sqlite:///"
CLICKHOUSE = ("clickhouse://", "clickhouses://")
DATABASE_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,62}", re.ASCII)
POSTGRESQL = ("postgresql+psycopg://", "postgresql://", "postgres://")
WEB_SCHEMES = frozenset({"http", "https"})
REDIS_SCHEMES = frozenset({"redis", "rediss", "unix"})

Network = ipaddress.IPv4Network | ipaddress.IPv6Network


def whole(low: int, high: int) -> Callable[[str], int]:
    def read(text: str) -> int:
        if not re.fullmatch(r"\d{1,12}", text, re.ASCII) or not low <= int(text) <= high:
            raise ValueError(f"must be a whole number from {low} to {high}")
        return int(text)

    return read


def one_of(*words: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in words:
            raise ValueError(f"must be one of: {', '.join(words)}")
        return text

    return read


def secret(text: str) -> str:
    if len(text) < MIN_SECRET or len(set(text)) < MIN_SECRET // 2:
        raise ValueError(f"must have {MIN_SECRET} random characters or more")
    return text


def bearer_token(text: str) -> str:
    """A token that a client can send in a header as it is."""
    if len(text) < MIN_TOKEN or not re.fullmatch(r"[ -~]+", text):
        raise ValueError(f"must have {MIN_TOKEN} characters or more, all of them ASCII")
    return text


def region(text: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9-]{0,62}", text, re.ASCII):
        raise ValueError("must be the name of a region, like eu-central-1")
    return text


def access_key(text: str) -> str:
    """A key of an S3-compatible server: what a signature can name."""
    if not re.fullmatch(r"[!-~]{3,256}", text):
        raise ValueError("must have 3 to 256 characters, all of them ASCII and none of them white space")
    return text


def path(text: str) -> Path:
    """A path. A relative one starts at `HOME`, whatever folder a command is run from."""
    return (HOME / Path(text).expanduser()).resolve()


def folder_path(text: str) -> Path:
    """The path of a folder, which may be made later."""
    found = path(text)
    nearest = next(each for each in (found, *found.parents) if each.exists())
    if not nearest.is_dir():
        raise ValueError(f"must be a folder, but {nearest} is a file")
    return found


def file_path(text: str) -> Path:
    """The path of a file, which may be made later."""
    found = path(text)
    if found.is_dir():
        raise ValueError(f"must be a file, but {found} is a folder")
    return found


def listen_address(text: str) -> str:
    """An IP address: the server takes no names, and a name could stand for several addresses."""
    try:
        found = ipaddress.ip_address(text)
    except ValueError:
        found = None
    if found is None or "%" in text:
        raise ValueError(
            "must be an IP address: 127.0.0.1 or ::1 for this machine alone, 0.0.0.0 or :: for every network."
            " Names and Unix sockets are not listened on"
        )
    return found.compressed


def split_url(text: str, schemes: frozenset[str], example: str) -> SplitResult:
    """The parts of a URL with one of these schemes, a host that can exist and a port that can."""
    wrong = f"must be an address like {example}"
    if not text.isprintable() or " " in text:
        raise ValueError(wrong)
    try:
        parts = urlsplit(text)
        is_right = parts.scheme in schemes and parts.port != 0 and bool(parts.hostname)
        wire_host(bracketed(parts.hostname or ""))
    except ValueError:
        is_right = False
    if not is_right:
        raise ValueError(wrong)
    return parts


def bracketed(host: str) -> str:
    """A host as URLs write it: an IPv6 address in brackets."""
    return f"[{host}]" if ":" in host else host


def base_address(text: str) -> str:
    """An absolute http(s) address without path, as `https://go.example`."""
    parts = split_url(text, WEB_SCHEMES, "https://go.example")
    if parts.path not in {"", "/"} or parts.query or parts.fragment or "@" in parts.netloc:
        raise ValueError(
            "must be an address without a path or a login, like https://go.example. Short links begin at the"
            " root of their host: give Waypost a host of its own, such as a subdomain"
        )
    host = wire_host(bracketed(parts.hostname or ""))
    return f"{parts.scheme}://{host}" + (f":{parts.port}" if parts.port else "")


def web_address(text: str) -> str:
    """An http(s) address with any path."""
    split_url(text, WEB_SCHEMES, "https://example.com/file.mmdb.gz")
    return text


def redis_address(text: str) -> str:
    """`redis://host:port/number`, `rediss://…` with TLS, or `unix:///path`."""
    example = "redis://127.0.0.1:6379/0"
    if text.startswith("unix:///") and text.isprintable():
        return text
    parts = split_url(text, REDIS_SCHEMES - {"unix"}, example)
    if not re.fullmatch(r"(/\d*)?", parts.path, re.ASCII):
        raise ValueError(f"must be an address like {example}: the last part is a number")
    return text


def clicks_address(text: str) -> str:
    """As `database_address`, or `clickhouse://user:password@host:8123/database` (`clickhouses://` for"
    " TLS)."""
    if not text.startswith(CLICKHOUSE):
        return database_address(text)
    try:
        url = make_url(text)
        is_right = bool(url.host) and DATABASE_NAME.fullmatch(url.database or "") and not url.query
    except (ArgumentError, ValueError):
        is_right = False
    if not is_right:
        raise ValueError("must be like clickhouse://user:password@host:8123/database")
    if importlib.util.find_spec("clickhouse_connect") is None:
        raise ValueError(
            "needs the package clickhouse-connect: .venv/bin/pip install --require-hashes -r"
            " requirements-clickhouse.txt"
        )
    return text


def database_address(text: str) -> str:
    """`sqlite:////path` or `postgresql://…`. The driver of PostgreSQL is set here."""
    if text.startswith(SQLITE):
        return sqlite_address(text)
    if text.startswith(POSTGRESQL):
        return postgresql_server(text)
    raise ValueError("must begin with sqlite:/// or postgresql://")


def postgresql_server(text: str) -> str:
    """`postgresql://…`. The driver is set here."""
    for scheme in POSTGRESQL:
        if text.startswith(scheme):
            return postgresql_address("postgresql+psycopg://" + text.removeprefix(scheme))
    raise ValueError("must begin with postgresql://")


def sqlite_address(text: str) -> str:
    """A file by its whole path: a relative one means other files to other parts of the program."""
    named = Path(make_url(text).database or "")
    if not named.is_absolute():
        raise ValueError("must be the whole path of a file, like sqlite:////var/lib/waypost/main.db")
    if named.is_dir():
        raise ValueError(f"must be a file, but {named} is a folder")
    return text


def postgresql_address(text: str) -> str:
    try:
        url = make_url(text)
        is_right = bool(url.host or url.database or url.query)
    except (ArgumentError, ValueError):
        is_right = False
    if not is_right:
        raise ValueError(
            "must be like postgresql://user:password@host:5432/name, special characters written as %40"
        )
    return text


def words(text: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"[\s,]+", text.lower()) if part)


def hosts(text: str) -> tuple[str, ...]:
    """Hosts without scheme and path. One that begins with a dot stands for all names that end in it."""
    return tuple(trusted_host(word) for word in words(text))


def trusted_host(word: str) -> str:
    """One host in its wire form, without its port: hosts are trusted on every port."""
    dot = "." if word.startswith(".") else ""
    match = re.fullmatch(r"(\[[^\]]+\]|[^:/@\[\]]+)(?::\d{1,5})?", word.removeprefix("."))
    try:
        if match:
            return dot + wire_host(match[1])
    except ValueError:
        pass  # the error below is the same as for a text without that shape
    raise ValueError(f"{word!r} is no host: write them like go.example, without https:// and without a path")


def header_name(text: str) -> str:
    """A header's name; one with an underscore would never arrive, for the server drops such headers."""
    if not re.fullmatch(r"[A-Za-z0-9-]+", text):
        raise ValueError("must be the name of a header, like CF-IPCountry: letters, digits and hyphens")
    return text


def networks(text: str) -> tuple[Network, ...]:
    return tuple(ipaddress.ip_network(part) for part in words(text))


def schemes(text: str) -> frozenset[str]:
    found = frozenset(words(text))
    if forbidden := found & NEVER_SCHEMES:
        raise ValueError(f"may never contain {', '.join(sorted(forbidden))}")
    if bad := [scheme for scheme in found if not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme)]:
        raise ValueError(f"contains what is no scheme: {', '.join(sorted(bad))}")
    return found | {"http", "https"}
