"""Sources of the settings in force, and their values with secrets masked."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from dotenv import dotenv_values

from app.core.config import ENV_FILE, PREFIX, TABLE, Settings

MASK = "••••••••"
SECRETS = frozenset(
    {"SECRET_KEY", "SECRET_KEY_OLD", "METRICS_TOKEN", "BACKUP_PASSPHRASE", "S3_SECRET_ACCESS_KEY"}
    | {"OIDC_CLIENT_SECRET"}
)
ADDRESSES = frozenset({"DATABASE_URL", "CLICKS_URL", "REDIS_URL", "SMTP_URL", "GEOIP_URL"})

ENVIRONMENT, DOTENV, FILE, DEFAULT = "environment", ".env", "file", "default"


class EffectiveSetting(NamedTuple):
    """A setting as it is in force."""

    name: str
    value: str
    origin: str


def origins(environ: Mapping[str, str] | None = None) -> dict[str, str]:
    """The source of each setting as of now. Called when a process starts, as the settings are read then."""
    environ = os.environ if environ is None else environ
    dotenv = {name: value for name, value in dotenv_values(ENV_FILE).items() if value}
    return {name: origin_of(PREFIX + name, environ, dotenv) for name in TABLE}


def stored_settings() -> dict[str, str]:
    """The settings in `.env`, without the prefix."""
    found = {name.removeprefix(PREFIX): value for name, value in dotenv_values(ENV_FILE).items() if value}
    return {name: value for name, value in found.items() if name in TABLE}


def origin_of(name: str, environ: Mapping[str, str], dotenv: Mapping[str, str]) -> str:
    if environ.get(f"{name}_FILE", dotenv.get(f"{name}_FILE")):
        return FILE
    if name in environ:  # also an empty one, which takes the place of the file's
        return ENVIRONMENT if environ[name] else DEFAULT
    return DOTENV if dotenv.get(name) else DEFAULT


def effective_settings(settings: Settings, known: Mapping[str, str]) -> list[EffectiveSetting]:
    values = {name: getattr(settings, name.lower()) for name in TABLE}
    values["CLICKS_URL"] = settings.clickhouse_url or settings.clicks_url
    return [EffectiveSetting(name, text_of(name, values[name]), known[name]) for name in TABLE]


def text_of(name: str, value: Any) -> str:
    """The value as text, secrets masked."""
    if value is None or value in ((), frozenset()):
        return ""
    if name in SECRETS:
        return MASK
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, tuple | frozenset):
        return " ".join(sorted(map(str, value)))
    return masked(str(value)) if name in ADDRESSES else str(value)


def masked(address: str) -> str:
    """An address without its password, and without parameters, which may hold one."""
    parts = urlsplit(address)
    if not parts.netloc:  # a file
        return address
    login, at, host = parts.netloc.rpartition("@")
    user, colon, _ = login.partition(":")
    netloc = f"{user}{colon}{MASK if colon else ''}{at}{host}"
    return urlunsplit(parts._replace(netloc=netloc, query=MASK if parts.query else ""))
