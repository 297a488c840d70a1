"""Which settings are there, what are their defaults, and what counts as a good value?"""

from __future__ import annotations

import ipaddress
import os
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from dotenv import dotenv_values

from app import mail_servers
from app.secret_keys import ring

PREFIX = "WAYPOST_"
ROOT = Path(__file__).resolve().parent.parent
MOST_DEFAULT = 4
MIN_SECRET = 16
NEVER_SCHEMES = frozenset({"javascript", "data", "vbscript", "file", "blob", "about"})


class BadSettings(Exception):
    """One or more settings have a value that can't be used; each line names one."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """The instance's settings, checked. Names are those of the environment, without the prefix."""

    data_dir: Path
    database_url: str
    clicks_url: str | None
    redis_url: str | None
    base_url: str | None
    dashboard_url: str | None
    # "" where there is none yet: `app/cli/database.py` has one made where one is needed
    secret_key: str
    secret_key_old: str
    secret_key_dir: Path | None  # where Waypost keeps them itself; None where the operator's settings do
    host: str
    port: int
    processes: int
    trusted_proxies: int
    trusted_hosts: tuple[str, ...]
    smtp_url: str | None
    mail_from: str | None
    geoip_db: Path | None
    geoip_url: str | None
    geo_country_header: str | None
    allow_private_networks: tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]
    pixel_consent: str | None
    session_days: int
    api_rate_limit: int
    click_retention_days: int
    audit_log_days: int
    journal_sync: str
    destination_schemes: frozenset[str]
    log_format: str
    metrics_token: str | None

    @property
    def is_sqlite(self) -> bool:
        return self.database_url.startswith("sqlite")


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


def base_address(text: str) -> str:
    """An absolute http(s) address without path, as `https://go.example`."""
    parts = urlsplit(text)
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.query or parts.fragment:
        raise ValueError("must be an address like https://go.example")
    if parts.path not in {"", "/"} or parts.username or parts.password:
        raise ValueError("must be an address without a path or a login, like https://go.example")
    return f"{parts.scheme}://{parts.netloc.lower()}"


def words(text: str) -> tuple[str, ...]:
    return tuple(part for part in re.split(r"[\s,]+", text.lower()) if part)


def networks(text: str) -> tuple[ipaddress.IPv4Network | ipaddress.IPv6Network, ...]:
    return tuple(ipaddress.ip_network(part) for part in words(text))


def schemes(text: str) -> frozenset[str]:
    found = frozenset(words(text))
    if forbidden := found & NEVER_SCHEMES:
        raise ValueError(f"may never contain {', '.join(sorted(forbidden))}")
    if bad := [scheme for scheme in found if not re.fullmatch(r"[a-z][a-z0-9+.-]*", scheme)]:
        raise ValueError(f"contains what is no scheme: {', '.join(sorted(bad))}")
    return found | {"http", "https"}


def database_address(text: str) -> str:
    """`sqlite:///path` or `postgresql://…`; the driver is ours to choose."""
    if text.startswith("sqlite:///"):
        return text
    for scheme in ("postgresql+psycopg://", "postgresql://", "postgres://"):
        if text.startswith(scheme):
            return "postgresql+psycopg://" + text.removeprefix(scheme)
    raise ValueError("must begin with sqlite:/// or postgresql://")


def default_processes() -> int:
    """One for each core that may be used, up to MOST_DEFAULT: pages then hold up no redirects elsewhere."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MOST_DEFAULT)


# name: (default as text, or None; how the text is read)
TABLE: dict[str, tuple[str | None, Callable[[str], Any]]] = {
    "DATA_DIR": (str(ROOT / "instance"), lambda text: Path(text).expanduser().resolve()),
    "DATABASE_URL": (None, database_address),
    "CLICKS_URL": (None, database_address),
    "REDIS_URL": (None, str),
    "BASE_URL": (None, base_address),
    "DASHBOARD_URL": (None, base_address),
    "SECRET_KEY": (None, secret),
    "SECRET_KEY_OLD": ("", str),
    "HOST": ("127.0.0.1", str),
    "PORT": ("8000", whole(1, 65535)),
    "PROCESSES": (str(default_processes()), whole(1, 64)),
    "TRUSTED_PROXIES": ("0", whole(0, 9)),
    "TRUSTED_HOSTS": ("", words),
    "SMTP_URL": (None, mail_servers.server_address),
    "MAIL_FROM": (None, mail_servers.sender),
    "GEOIP_DB": (None, Path),
    "GEOIP_URL": (None, str),
    "GEO_COUNTRY_HEADER": (None, str),
    "ALLOW_PRIVATE_NETWORKS": ("", networks),
    "PIXEL_CONSENT": (None, one_of("ask")),
    "SESSION_DAYS": ("30", whole(1, 3650)),
    "API_RATE_LIMIT": ("6000", whole(0, 10_000_000)),
    "CLICK_RETENTION_DAYS": ("90", whole(1, 36_500)),
    "AUDIT_LOG_DAYS": ("365", whole(30, 3650)),
    "JOURNAL_SYNC": ("worker", one_of("worker", "group")),
    "DESTINATION_SCHEMES": ("http https", schemes),
    "LOG_FORMAT": ("text", one_of("text", "json")),
    "METRICS_TOKEN": (None, str),
}


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read every setting from `environ`, or from the process's environment over `.env`.

    Raises BadSettings with a line for each setting that can't be used.
    """
    if environ is None:
        environ = {**{k: v for k, v in dotenv_values(ROOT / ".env").items() if v is not None}, **os.environ}
    found: dict[str, Any] = {}
    problems: list[str] = []
    for name, (default, read) in TABLE.items():
        try:
            text = from_environment(environ, name) or default
            found[name.lower()] = read(text) if text is not None else None
        except (ValueError, OSError) as error:
            problems.append(f"{PREFIX}{name}: {error}")
    if problems:
        raise BadSettings("\n".join(problems))
    try:
        settings = Settings(**fill(found))
    except OSError as error:
        raise BadSettings(f"{PREFIX}DATA_DIR: {error}") from error
    refuse_split_databases(settings)
    return settings


def refuse_split_databases(settings: Settings) -> None:
    """Pages read the clicks on the connection they read everything on: a file beside, or a schema within."""
    clicks = settings.clicks_url
    is_beside = settings.is_sqlite and (clicks or "sqlite").startswith("sqlite")
    if not is_beside and clicks not in {None, settings.database_url}:
        raise BadSettings(
            f"{PREFIX}CLICKS_URL: must be a SQLite file where the database is one, and else not be set"
        )


def from_environment(environ: Mapping[str, str], name: str) -> str | None:
    """The text of one setting; `…_FILE` names a file that holds it. Empty is not set."""
    if path := environ.get(f"{PREFIX}{name}_FILE"):
        return Path(path).read_text(encoding="utf-8").strip()
    return environ.get(PREFIX + name) or None


def fill(found: dict[str, Any]) -> dict[str, Any]:
    """Settings whose default depends on another one."""
    data_dir: Path = found["data_dir"]
    data_dir.mkdir(parents=True, exist_ok=True)
    found["database_url"] = found["database_url"] or f"sqlite:///{data_dir / 'main.db'}"
    fill_keys(found, data_dir)
    assert set(found) == {field.name for field in fields(Settings)}  # noqa: S101  the table and the class name the same
    return found


def fill_keys(found: dict[str, Any], data_dir: Path) -> None:
    """The operator's keys, or else those in DATA_DIR. None is made here: most commands need none."""
    found["secret_key_dir"] = None if found["secret_key"] else data_dir
    if not found["secret_key"]:
        found["secret_key"], found["secret_key_old"] = (
            stored_key(data_dir / name) for name in (ring.FILE, ring.OLD_FILE)
        )


def stored_key(path: Path) -> str:
    """ "" where there is none, or none that can be used: `require_secret_key` says so, and doctor."""
    try:
        return ring.read_key(path)
    except ring.UnreadableKey:
        return ""
