"""How is this instance, in figures and in words?"""

from __future__ import annotations

import importlib.metadata
import platform
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from sqlalchemy import func, select, text

from app import clock, own_addresses
from app.accounts.models import User
from app.cli.backups import manifest
from app.clicks.models import Counter
from app.database import clicks_path
from app.extensions import db
from app.jobs import tending
from app.links.models import LimitCounter, Link
from app.public import health
from app.public.here import desk

LIBRARIES = ("Flask", "SQLAlchemy", "Granian")
LOW_BYTES = 512 * 1024 * 1024
OLD_DAYS = 60

Check = Mapping[str, Any]


class Part(NamedTuple):
    """One thing that must work. `told` says how it is, with what its check found; `remedy` what to do where
    it is not well."""

    title: str
    told: str
    remedy: str


PARTS: Mapping[str, Part] = {
    "database": Part("Database", "It answers.", "Is the database running, and is the disk not full?"),
    "migrations": Part(
        "Tables", "They are of this version.", "Run “flask db upgrade”, or start Waypost anew."
    ),
    "worker": Part(
        "Worker",
        "It was there {seconds} seconds ago.",
        "Nothing is counted or sent without it. Is “flask serve” or “flask worker” running?",
    ),
    "journal": Part(
        "Counting",
        "Clicks are {seconds} seconds behind, statistics {rows_seconds}.",
        "Visits wait and are not lost. See what the worker's log says.",
    ),
    "limited": Part(
        "Limited links",
        "{waiting} visits are on their way to the statistics.",
        "See what the worker's log says.",
    ),
}


def live() -> dict[str, Any]:
    """What changes from moment to moment."""
    checks = {name: health.checked(check) for name, check in health.CHECKS.items()}
    journal = checks["journal"]
    return {
        "parts": [line(name, part, checks[name]) for name, part in PARTS.items()],
        "is_well": all(check["ok"] for check in checks.values()),
        "dropped": journal.get("dropped", 0),
        "unknown_segments": journal.get("unknown_segments", 0),
        "waiting_bytes": journal.get("waiting_bytes", 0),
        "rows_to_add_up": checks["statistics"].get("rows_to_add_up", 0),
        "wal_bytes": checks["wal"].get("bytes", 0),
        "counts": counts(),
        "sizes": sizes(),
        "disk": disk(),
        "low_bytes": LOW_BYTES,
        "as_of": clock.now(),
    }


def line(name: str, part: Part, check: Check) -> dict[str, Any]:
    """How one part is; where it is not well, what to do."""
    is_known = check["ok"] and "detail" not in check
    word = part.told.format(**check) if is_known else ""
    return {"name": name, "title": part.title, "ok": check["ok"], "word": word, "remedy": part.remedy}


def counts() -> dict[str, int]:
    """Of everybody; those who were deleted and could come back are among them."""
    clicks = [select(func.coalesce(func.sum(model.clicks), 0)) for model in (Counter, LimitCounter)]
    return {
        "Users": db.session.scalar(select(func.count()).select_from(User)) or 0,
        "Links": db.session.scalar(select(func.count()).select_from(Link)) or 0,
        "Clicks": sum(int(db.session.scalar(each) or 0) for each in clicks),
    }


def sizes() -> dict[str, int]:
    """In bytes."""
    settings = own_addresses.settings()
    if not settings.is_sqlite:
        return {"Database": int(db.session.scalar(text("SELECT pg_database_size(current_database())")) or 0)}
    main = Path(str(db.engine.url.database))
    return {
        "What owners write": size(main) + tending.wal_bytes(db.engine),
        "Clicks of all links": size(clicks_path(settings)),
    }


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def disk() -> dict[str, int]:
    found = shutil.disk_usage(own_addresses.settings().data_dir)
    return {"free": found.free, "total": found.total}


def places() -> dict[str, Any]:
    """What says where visitors are, and how old that is."""
    settings, status = own_addresses.settings(), desk().places.status
    age = status.age(clock.now())
    return {
        "state": status.state,
        "kind": status.kind,
        "built": status.built,
        "days": age and age.days,
        "is_old": bool(age and age.days > OLD_DAYS),
        "failed": status.failed,
        "attribution": status.attribution,
        "is_named": settings.geoip_db is not None,
        "header": settings.geo_country_header,
    }


def versions() -> dict[str, str]:
    found = {"Waypost": manifest.version(), "Python": platform.python_version()}
    if db.engine.dialect.name == "sqlite":
        found["SQLite"] = sqlite3.sqlite_version
    else:
        found["PostgreSQL"] = str(db.session.scalar(text("SHOW server_version"))).partition(" ")[0]
    return found | {name: importlib.metadata.version(name) for name in LIBRARIES}
