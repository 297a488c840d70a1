"""Checks for settings that have no effect or contradict each other, and whether the secret key fits.

The secret key has to be the one that the database needs, and to decrypt what is stored.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from sqlalchemy import Column, func, select

from app.core.config import ENV_FILE, FILE_SUFFIX, PREFIX, Settings, describe_unknown_name
from app.core.config_sources import SECRETS, masked, stored_settings
from app.core.encryption import decrypt_text
from app.core.extensions import db
from app.core.secret_keys import ring
from app.core.secret_keys.check import KeyState, compare_keys, raw_text, sealed_columns
from app.operations.checks.finding import Finding, ok, plural, problem, warning
from app.operations.secret_key import advise, describe_state
from app.web.urls import is_trusted

SHORT_SECRET = 32
LOOPBACK = ("127.", "::1", "localhost")
WRITABLE = stat.S_IWGRP | stat.S_IWOTH


def settings_check(settings: Settings) -> Iterator[Finding]:
    reason = known_elsewhere(settings)
    if settings.base_url is None and reason:
        yield warning(
            f"{PREFIX}BASE_URL is not set, but {reason}.",
            "Set it to the public address: e-mails and exports use it in short links.",
        )
    if 0 < len(settings.secret_key) < SHORT_SECRET:
        yield problem(
            f"The secret key has {len(settings.secret_key)} characters.",
            f"Use at least {SHORT_SECRET} random ones: sessions are signed with it.",
        )
    for name in settings.unknown_names:
        yield warning(describe_unknown_name(name), "Rename it, or remove it.")
    yield from find_conflicts(settings)
    yield from env_file_check()
    if settings.smtp_url is None:
        yield ok("The settings are valid. No e-mail: SMTP_URL is not set.")
    else:
        yield ok("The settings are valid.")


def known_elsewhere(settings: Settings) -> str:
    """Why this instance is not opened by the address that it listens on; "" where it may be."""
    if not settings.host.startswith(LOOPBACK):
        return f"{PREFIX}HOST is {settings.host}"
    if settings.trusted_proxies:
        return f"{PREFIX}TRUSTED_PROXIES says that a proxy stands before it"
    if settings.dashboard_url:
        return f"{PREFIX}DASHBOARD_URL is"
    return f"{PREFIX}SMTP_URL has it send mails" if settings.smtp_url else ""


def find_conflicts(settings: Settings) -> Iterator[Finding]:
    """Settings that contradict each other. Each start logs them, too."""
    yield from host_conflicts(settings)
    yield from proxy_conflicts(settings)
    for name in settings.doubled_names:
        yield warning(
            f"{PREFIX}{name} and {PREFIX}{name}{FILE_SUFFIX} are both set: the file's value is used.",
            "Remove one of them.",
        )
    if settings.secret_key_dir is None and (settings.data_dir / ring.FILE).exists():
        yield warning(
            f"{PREFIX}SECRET_KEY is set, and {settings.data_dir / ring.FILE} is there, which is not used.",
            "Move the file to where you keep old keys, or remove the setting.",
        )
    if settings.mail_from and settings.smtp_url is None:
        yield warning(f"{PREFIX}MAIL_FROM is set without {PREFIX}SMTP_URL: no e-mail is sent.", "Set both.")


def host_conflicts(settings: Settings) -> Iterator[Finding]:
    urls = {"BASE_URL": settings.base_url, "DASHBOARD_URL": settings.dashboard_url}
    hosts = {name: urlsplit(url).netloc for name, url in urls.items() if url}
    for name, host in hosts.items():
        if settings.trusted_hosts and not is_trusted(host, settings.trusted_hosts):
            yield problem(
                f"{PREFIX}TRUSTED_HOSTS lacks the host of {PREFIX}{name}, {host}: it is not served there.",
                f"Add {host} to {PREFIX}TRUSTED_HOSTS.",
            )
    if len(hosts) == 2 and len(set(hosts.values())) == 1:
        yield problem(
            f"{PREFIX}DASHBOARD_URL and {PREFIX}BASE_URL have the same host: no short link answers there.",
            f"Give the dashboard a host of its own, or remove {PREFIX}DASHBOARD_URL.",
        )


def proxy_conflicts(settings: Settings) -> Iterator[Finding]:
    if settings.trusted_proxies:
        return
    if (settings.base_url or "").startswith("https:"):
        yield warning(
            f"{PREFIX}BASE_URL is https, but {PREFIX}TRUSTED_PROXIES is 0.",
            "Behind a proxy set it to 1, or all visitors share the proxy's IP address.",
        )
    if settings.geo_country_header:
        yield warning(
            f"{PREFIX}GEO_COUNTRY_HEADER is set, but {PREFIX}TRUSTED_PROXIES is 0.",
            "Behind a proxy that sends that header set it to 1; without one, visitors can forge it.",
        )


def env_file_check() -> Iterator[Finding]:
    """Whether other users of this machine may read the secrets in `.env`, or change the file.

    Its group may read it: often that is how a service's user reads it.
    """
    if not ENV_FILE.exists():
        return
    mode = ENV_FILE.stat().st_mode
    if mode & WRITABLE:
        yield problem(
            f"{ENV_FILE} has the mode {mode & 0o777:o}: others on this machine can change the settings.",
            f"chmod go-w {ENV_FILE}",
        )
    secrets = [name for name, text in stored_settings().items() if name in SECRETS or masked(text) != text]
    if mode & stat.S_IROTH and secrets:
        named = ", ".join(f"{PREFIX}{name}" for name in sorted(secrets))
        yield problem(
            f"{ENV_FILE} has the mode {mode & 0o777:o}: everybody on this machine can read {named}.",
            f"chmod o= {ENV_FILE}",
        )


SECRETS_BATCH_SIZE = 500
# tables that are decrypted in full; of all others only fingerprints are compared, for there may be millions
READ_IN_FULL = {"notification_handler", "second_factor", "letter"}
SECRET_NAMES = {
    "notification_handler": "handler",
    "second_factor": "two-factor secret",
    "link_change": "change of a link",
    "daily_salt": "daily salt",
    "trashed": "thing in the trash",
}


def secret_check(settings: Settings) -> Iterator[Finding]:
    keys = ring.current_keys().all()
    state, needed = compare_keys(db.session, keys)
    if state in {KeyState.MISSING, KeyState.WRONG} and needed:
        yield problem(describe_state(settings, state, needed), advise(settings))
        return
    if state is KeyState.ROTATING:
        yield warning("A rotation of the secret key is not finished.", "./waypost secrets rotate")
    found = {column.table.name: count_unreadable(column, keys) for column in sealed_columns()}
    shut = {name: count for name, count in found.items() if count}
    for name, count in shut.items():
        yield problem(
            f"{plural(count, SECRET_NAMES.get(name, f'row of {name}'))} can't be read with this secret key.",
            "Restore the key that encrypted them, or have their owners enter them again.",
        )
    if not shut:
        yield ok(f"The secret key decrypts what is stored ({needed or 'nothing is yet'}).")


def count_unreadable(column: Column[Any], keys: tuple[str, ...]) -> int:
    texts = raw_text(column)
    others = [texts.not_like(f"{ring.fingerprint(key)}:%") for key in keys]
    if column.table.name not in READ_IN_FULL:
        marked = select(func.count()).where(texts.like("%:%"), *others)
        return db.session.scalar(marked.select_from(column.table)) or 0
    stored = db.session.scalars(
        select(texts).where(column.is_not(None)).execution_options(yield_per=SECRETS_BATCH_SIZE)
    )
    return sum(decrypt_text(text, keys) is None for text in stored)
