"""Is the machine as it must be: settings, files and their modes, room, clock, port, processes?"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from app.cli.checks.finding import Finding, ok, problem, warning
from app.cli.database import RESTORING
from app.cli.lifetime import refusal_to_listen
from app.config import PREFIX, Settings, describe_unknown_name
from app.jobs.tending import heartbeat_age
from app.journal import segments

OTHERS = stat.S_IRWXG | stat.S_IRWXO
SHORT_SECRET = 32
FEW_BYTES, FEWER_BYTES = 1 << 30, 100 << 20
FEW_INODES = 1000
WORKER_SECONDS = 15
AHEAD_SECONDS = 60
LOOPBACK = ("127.", "::1", "localhost")


def settings_check(settings: Settings) -> Iterator[Finding]:
    reason = known_elsewhere(settings)
    if settings.base_url is None and reason:
        yield warning(
            f"{PREFIX}BASE_URL is not set, but {reason}.",
            "Set it to the address people know: mails and exports name short links by it.",
        )
    if (settings.base_url or "").startswith("https:") and settings.trusted_proxies == 0:
        yield warning(
            f"{PREFIX}BASE_URL is https, but {PREFIX}TRUSTED_PROXIES is 0.",
            "Behind a proxy set it to 1, or all visitors have the proxy's address.",
        )
    if len(settings.secret_key) < SHORT_SECRET:
        yield problem(
            f"The secret key has {len(settings.secret_key)} characters.",
            f"Take {SHORT_SECRET} random ones or more: sessions are signed with it.",
        )
    for name in settings.unknown_names:
        yield warning(describe_unknown_name(name), "Rename it, or remove it.")
    if settings.smtp_url is None:
        yield ok("Settings can be used. No e-mail: SMTP_URL is not set.")
    else:
        yield ok("Settings can be used.")


def known_elsewhere(settings: Settings) -> str:
    """Why nobody opens this instance by the address that it listens on; "" where that may be."""
    if not settings.host.startswith(LOOPBACK):
        return f"{PREFIX}HOST is {settings.host}"
    if settings.trusted_proxies:
        return f"{PREFIX}TRUSTED_PROXIES says that a proxy stands before it"
    return f"{PREFIX}SMTP_URL has it send mails" if settings.smtp_url else ""


PRIVATE = (
    "secret_key", "keys", "main.db", "clicks.db", "journal", "imports", "downloads", "backups",
    "setup_token", ".env",
)  # fmt: skip


def files_check(settings: Settings) -> Iterator[Finding]:
    """Whether we can write, and nobody else can read."""
    data_dir = settings.data_dir
    if (data_dir / RESTORING).exists():
        yield problem("A restore was interrupted.", "Run it again.")
    if not os.access(data_dir, os.W_OK | os.X_OK):
        yield problem(f"{data_dir} can't be written to.", f"Give it to the user {os.geteuid()}.")
    seen = [data_dir, *(path for name in PRIVATE if (path := data_dir / name).exists())]
    open_ones = [path for path in seen if path.stat().st_mode & OTHERS]
    for path in open_ones:
        said = f"{path} has the mode {path.stat().st_mode & 0o777:o}: others on this machine can get at it."
        advice = f"chmod go= {path}"
        yield (
            problem(said, advice)
            if path.name in {"secret_key", "keys", "setup_token"}
            else warning(said, advice)
        )
    foreign = [path for path in seen if path.stat().st_uid != os.geteuid()]
    for path in foreign:
        yield warning(
            f"{path} belongs to another user ({path.stat().st_uid}).", "Run every command as the same user."
        )
    if not open_ones and not foreign:
        yield ok(f"{data_dir} is ours, and nobody else can read what is in it.")


def room_check(settings: Settings) -> Iterator[Finding]:
    space = os.statvfs(settings.data_dir)
    free = space.f_bavail * space.f_frsize
    said, advice = f"{free / 1e9:,.1f} GB are free.", "Make room: with none, visits can't be counted."
    if space.f_files and space.f_favail < FEW_INODES:
        yield problem(f"Only {space.f_favail} more files can be made.", advice)
    if free < FEWER_BYTES:
        yield problem(said, advice)
    else:
        yield warning(said, advice) if free < FEW_BYTES else ok(said)


def clock_check(settings: Settings) -> Iterator[Finding]:
    """Nobody is asked for the time: but nothing that is written here can come from the future."""
    names = segments.listed(segments.directory_of(settings.data_dir))
    newest = max((int(name.partition("-")[0]) / 1e9 for name in names), default=0.0)
    if newest > time.time() + AHEAD_SECONDS:
        yield problem(
            f"Visits were written {newest - time.time():,.0f} seconds from now.",
            "The clock went back: see that it is set by NTP.",
        )
    else:
        yield ok(f"The clock says {time.strftime('%Y-%m-%d %H:%M:%S', time.gmtime())} UTC.")


def processes_check(settings: Settings) -> Iterator[Finding]:
    """What runs on this data, and whether what runs is whole."""
    is_serving = not is_lockable(settings.data_dir / "serve.lock")
    if not is_serving:
        refusal = refusal_to_listen(settings.host, settings.port)
        if refusal is None:
            yield ok(f"Not running; {settings.local_url} is free.")
        else:
            yield warning(f"Not running, and {refusal.reason}.", refusal.advice)
        return
    age = heartbeat_age(settings.data_dir)
    if age is None or age > WORKER_SECONDS:
        yield problem(
            f"It runs, but the worker has not been heard of{'' if age is None else f' for {age:,.0f} s'}.",
            "Look into the log; visits wait in the journal meanwhile, and none is lost.",
        )
    else:
        yield ok("It runs, and so does the worker.")


def is_lockable(path: Path) -> bool:
    """Whether nobody holds it. (Asks without making the file.)"""
    if not path.exists():
        return True
    with segments.lock(path) as is_ours:
        return is_ours
