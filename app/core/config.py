"""Settings of the instance: their names, defaults and readers, and how they are loaded."""

# see docs/decisions/2026-11-22-checked-settings.md
# see docs/decisions/2026-11-21-processes-by-cores.md
from __future__ import annotations

import difflib
import ipaddress
import os
import pwd
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from dotenv import dotenv_values

from app.core import oidc_settings as oidc
from app.core import setting_values as values
from app.core import smtp_url as core_smtp_url
from app.core import storage_settings as storage
from app.core.folders import DATA_DIR, HOME
from app.core.oidc_settings import OidcSettings
from app.core.secret_keys import ring
from app.core.setting_values import one_of, whole
from app.core.storage_settings import Retention, find_conflicts

PREFIX = values.PREFIX
ENV_FILE = HOME / ".env"
MAX_DEFAULT = 4
FILE_SUFFIX = "_FILE"


class BadSettings(Exception):
    """One or more settings have a value that can't be used. Each line of the text names one."""


@dataclass(frozen=True, kw_only=True)
class Settings(OidcSettings):
    """The instance's settings, checked. Names are those of the environment, without the prefix."""

    data_dir: Path
    database_url: str
    clicks_url: str | None  # of SQL: the counters, and everything else where there is no ClickHouse
    clickhouse_url: str | None  # CLICKS_URL, where it names a ClickHouse
    database_pool_size: int
    redis_url: str | None
    base_url: str | None
    dashboard_url: str | None
    # "" where there is none yet: `migrate_first` in app/operations/database.py makes one where it is needed
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
    max_handlers: int
    click_retention_days: int
    audit_log_days: int
    upgrade_backups: int
    journal_sync: str
    destination_schemes: frozenset[str]
    log_format: str
    log_level: str
    metrics_token: str | None
    backup_to: str | None  # a whole path, or a bucket
    backup_at: str  # cron in UTC; "" is never, as of the next but one
    backup_keep: Retention
    backup_verify_at: str
    backup_passphrase: str | None
    s3_endpoint: str | None
    s3_region: str
    s3_access_key_id: str | None
    s3_secret_access_key: str | None
    unknown_names: tuple[str, ...]  # names with the prefix that are no settings
    doubled_names: tuple[str, ...]  # settings that have a value and a `…_FILE`, which wins

    @property
    def local_host(self) -> str:
        """The host under which this machine itself reaches the server, as URLs write it."""
        listens_on = ipaddress.ip_address(self.host)
        if not listens_on.is_unspecified:
            return values.bracketed(self.host)
        return "127.0.0.1" if listens_on.version == 4 else "[::1]"

    @property
    def local_url(self) -> str:
        """An address that opens on this machine, for messages where `BASE_URL` is not set."""
        return f"http://{self.local_host}:{self.port}"

    @property
    def is_sqlite(self) -> bool:
        return self.database_url.startswith("sqlite")


def default_processes() -> int:
    """One for each usable core, up to MAX_DEFAULT: a page in one does not hold up redirects in others."""
    usable = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return min(usable, MAX_DEFAULT)


# name: (default as text, or None; how the text is read)
TABLE: dict[str, tuple[str | None, Callable[[str], Any]]] = {
    "DATA_DIR": (str(DATA_DIR), values.folder_path),
    "DATABASE_URL": (None, values.database_address),
    "CLICKS_URL": (None, values.clicks_address),
    "DATABASE_POOL_SIZE": ("20", whole(4, 1000)),
    "REDIS_URL": (None, values.redis_address),
    "BASE_URL": (None, values.base_address),
    "DASHBOARD_URL": (None, values.base_address),
    "SECRET_KEY": (None, values.secret),
    "SECRET_KEY_OLD": (None, values.secret),
    "HOST": ("127.0.0.1", values.listen_address),
    "PORT": ("8000", whole(1, 65535)),
    "PROCESSES": (str(default_processes()), whole(1, 64)),
    "TRUSTED_PROXIES": ("0", whole(0, 9)),
    "TRUSTED_HOSTS": ("", values.hosts),
    "SMTP_URL": (None, core_smtp_url.server_address),
    "MAIL_FROM": (None, core_smtp_url.sender),
    "GEOIP_DB": (None, values.file_path),
    "GEOIP_URL": (None, values.web_address),
    "GEO_COUNTRY_HEADER": (None, values.header_name),
    "ALLOW_PRIVATE_NETWORKS": ("", values.networks),
    "PIXEL_CONSENT": (None, one_of("ask")),
    "SESSION_DAYS": ("30", whole(1, 3650)),
    "API_RATE_LIMIT": ("6000", whole(0, 10_000_000)),
    "MAX_HANDLERS": ("100", whole(1, 10_000)),
    "CLICK_RETENTION_DAYS": ("90", whole(1, 36_500)),
    "AUDIT_LOG_DAYS": ("365", whole(30, 3650)),
    "UPGRADE_BACKUPS": ("3", whole(0, 100)),
    "JOURNAL_SYNC": ("worker", one_of("worker", "group")),
    "DESTINATION_SCHEMES": ("http https", values.schemes),
    "LOG_FORMAT": ("text", one_of("text", "json")),
    "LOG_LEVEL": ("info", one_of("debug", "info", "warning", "error")),
    "METRICS_TOKEN": (None, values.bearer_token),
    "BACKUP_TO": (None, storage.backup_target),
    "BACKUP_AT": ("03:15", storage.schedule),
    "BACKUP_KEEP": ("7d 4w 6m", storage.retention),
    "BACKUP_VERIFY_AT": ("45 4 * * 0", storage.schedule),
    "BACKUP_PASSPHRASE": (None, storage.passphrase),
    "S3_ENDPOINT": (None, values.base_address),
    "S3_REGION": ("us-east-1", values.region),
    "S3_ACCESS_KEY_ID": (None, values.access_key),
    "S3_SECRET_ACCESS_KEY": (None, values.access_key),
    **oidc.ROWS,
}


def load_settings(environ: Mapping[str, str] | None = None) -> Settings:
    """Read every setting from `environ`, or from the process's environment over `.env`.

    Raises BadSettings with a line for each setting that can't be used.
    """
    environ = read_environment() if environ is None else environ
    found: dict[str, Any] = {}
    problems: list[str] = []
    for name, (default, read) in TABLE.items():
        try:
            text = from_environment(environ, name) or default
            found[name.lower()] = read(text) if text is not None else None
        except (ValueError, OSError, RuntimeError) as error:  # the last: a home folder that is not known
            problems.append(f"{PREFIX}{name}: {error}")
    if problems:
        raise BadSettings("\n".join(problems))
    found["unknown_names"], found["doubled_names"] = unknown_names(environ), doubled_names(environ)
    try:
        settings = Settings(**fill(found))
    except (OSError, ValueError) as error:
        raise BadSettings(f"{PREFIX}DATA_DIR: {error}") from error
    if conflicts := [*find_conflicts(settings), *oidc.find_conflicts(settings)]:
        raise BadSettings("\n".join(f"{PREFIX}{name}: {text}" for name, text in conflicts))
    return settings


def read_environment() -> dict[str, str]:
    """The process's environment over `.env`. Raises BadSettings where that file can't be read."""
    try:
        stored = dotenv_values(ENV_FILE)
    except PermissionError:
        raise BadSettings(
            f"{ENV_FILE}: can't be read by this user ({user_name()}). Run this as the user that Waypost runs"
            f" as, or make the file readable for this one."
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise BadSettings(f"{ENV_FILE}: can't be read ({error})") from error
    return {name: text for name, text in stored.items() if text is not None} | dict(os.environ)


def user_name() -> str:
    """The name of this process's user; the number of one without a name."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        return str(os.geteuid())


def doubled_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The settings that have a value both of their own and in a file."""
    return tuple(
        name for name in TABLE if environ.get(PREFIX + name) and environ.get(f"{PREFIX}{name}{FILE_SUFFIX}")
    )


def unknown_names(environ: Mapping[str, str]) -> tuple[str, ...]:
    """The names that have the prefix of settings but are none."""
    known = {f"{PREFIX}{name}{suffix}" for name in TABLE for suffix in ("", FILE_SUFFIX)}
    return tuple(sorted(name for name in environ if name.startswith(PREFIX) and name not in known))


def describe_unknown_name(name: str) -> str:
    """A sentence about a name that is no setting: it names the setting that is spelled most like it."""
    stem, suffix = name.removeprefix(PREFIX), ""
    if stem.endswith(FILE_SUFFIX):
        stem, suffix = stem.removesuffix(FILE_SUFFIX), FILE_SUFFIX
    (nearest,) = difflib.get_close_matches(stem, TABLE, n=1, cutoff=0)
    return f"{name} is not a setting and has no effect. Did you mean {PREFIX}{nearest}{suffix}?"


def from_environment(environ: Mapping[str, str], name: str) -> str | None:
    """The text of one setting; `…_FILE` names a file that holds it. Empty is not set."""
    if path := environ.get(f"{PREFIX}{name}{FILE_SUFFIX}"):
        return values.path(path).read_text(encoding="utf-8").strip()
    return environ.get(PREFIX + name) or None


def fill(found: dict[str, Any]) -> dict[str, Any]:
    """Fills in settings whose default depends on another one."""
    data_dir: Path = found["data_dir"]
    found["database_url"] = found["database_url"] or f"sqlite:///{data_dir / 'main.db'}"
    # with ClickHouse, the counters stay where they are by default
    is_clickhouse = (found["clicks_url"] or "").startswith(values.CLICKHOUSE)
    found["clickhouse_url"] = found["clicks_url"] if is_clickhouse else None
    found["clicks_url"] = None if is_clickhouse else found["clicks_url"]
    fill_keys(found, data_dir)
    assert set(found) == {field.name for field in fields(Settings)}  # noqa: S101  the table and the class name the same
    return found


def fill_keys(found: dict[str, Any], data_dir: Path) -> None:
    """Fills in the operator's keys, else those in DATA_DIR. None is made here: most commands need none."""
    if found["secret_key_old"] and not found["secret_key"]:
        raise BadSettings(
            f"{PREFIX}SECRET_KEY_OLD: means nothing without {PREFIX}SECRET_KEY. Set both, or neither where"
            f" {data_dir} holds the key."
        )
    found["secret_key_dir"] = None if found["secret_key"] else data_dir
    found["secret_key_old"] = found["secret_key_old"] or ""
    if not found["secret_key"]:
        found["secret_key"], found["secret_key_old"] = (
            stored_key(data_dir / name) for name in (ring.FILE, ring.OLD_FILE)
        )


def stored_key(path: Path) -> str:
    """The key in a file; "" where there is none, or none that can be used.

    `require_secret_key` and `flask doctor` report that.
    """
    try:
        return ring.read_key(path)
    except (ring.UnreadableKey, PermissionError):
        return ""
