"""Instance page for admins: health, counts, sizes, disk, settings, versions, and a test mail."""

from __future__ import annotations

import datetime as dt
import importlib.metadata
import platform
import shutil
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from flask import Flask, Response, current_app, make_response, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import func, select, text

from app.accounts.models import User
from app.analytics.models import Counter
from app.core import clock, config_sources
from app.core.database import begin_write, clicks_path
from app.core.extensions import db
from app.core.version import VERSION
from app.dashboard.auth.access import admins_only, signed_in_user
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.words import TABLE, words_for
from app.i18n.messages import gettext
from app.i18n.messages import gettext as _
from app.jobs import maintenance
from app.jobs.backups import BACKUP, is_overdue, read_state
from app.links.models import LimitCounter, Link
from app.notifications import system_email
from app.notifications.models import SystemEmail
from app.notifications.site import site_of
from app.operations import health
from app.redirects.request_context import redirect_context
from app.web import application, urls

LIBRARIES = ("Flask", "SQLAlchemy", "Granian")
LOW_BYTES = 512 * 1024 * 1024
OLD_DAYS = 60

Check = Mapping[str, Any]


class HealthItem(NamedTuple):
    """Words for one health check. `description` describes its result, with the values that the check found;
    `remedy` says what to do where it fails."""

    title: str
    description: str
    remedy: str


PARTS: Mapping[str, HealthItem] = {
    name: HealthItem(**{**words, "description": TABLE["health"][name]["description"]})
    for name, words in words_for("health").items()
}


def live() -> dict[str, Any]:
    """What changes while the page is open."""
    checks = {name: health.run_check(name, db.session) for name in health.CHECKS}
    journal = checks["journal"]
    return {
        "parts": [*(health_line(name, part, checks[name]) for name, part in PARTS.items()), *backups()],
        "is_well": all(check["ok"] for check in checks.values()),
        "dropped": journal.get("dropped", 0),
        "unknown_segments": journal.get("unknown_segments", 0),
        "waiting_bytes": journal.get("waiting_bytes", 0),
        "wal_bytes": checks["wal"].get("bytes", 0),
        "counts": counts(),
        "sizes": sizes(),
        "disk": disk(),
        "low_bytes": LOW_BYTES,
        "as_of": clock.now(),
    }


def health_line(name: str, part: HealthItem, check: Check) -> dict[str, Any]:
    """The state of one part, and what to do where it is not well."""
    is_known = check["ok"] and "detail" not in check
    word = gettext(part.description, **check) if is_known else ""
    return {"name": name, "title": part.title, "ok": check["ok"], "word": word, "remedy": part.remedy}


def backups() -> list[dict[str, Any]]:
    """The state of scheduled backups, where there are any. The instance is ready whatever it is."""
    settings = application.settings()
    if settings.backup_to is None:
        return []
    state = read_state(db.session, BACKUP)
    is_well = state is None or not (state.failed or is_overdue(state, settings.backup_at))
    made = clock.format_utc(state.succeeded) if state else None
    word = _("The last one was made at %(time)s UTC.", time=made) if made else _("There is none yet.")
    remedy = state.reason if state and state.failed else _("There was no backup for too long.")
    return [{"name": "backups", "title": _("Backups"), "ok": is_well, "word": word, "remedy": remedy}]


def counts() -> dict[str, int]:
    """Numbers of the whole instance, including deleted users who can still be restored."""
    clicks = [select(func.coalesce(func.sum(model.clicks), 0)) for model in (Counter, LimitCounter)]
    return {
        _("Users"): db.session.scalar(select(func.count()).select_from(User)) or 0,
        _("Links"): db.session.scalar(select(func.count()).select_from(Link)) or 0,
        _("Clicks"): sum(int(db.session.scalar(each) or 0) for each in clicks),
    }


def sizes() -> dict[str, int]:
    """Size of each database in bytes."""
    settings = application.settings()
    if not settings.is_sqlite:
        return {
            _("Database"): int(db.session.scalar(text("SELECT pg_database_size(current_database())")) or 0)
        }
    main = Path(str(db.engine.url.database))
    return {
        _("Owners' changes"): size(main) + maintenance.wal_bytes(db.engine),
        _("Clicks of all links"): size(clicks_path(settings)),
    }


def size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def disk() -> dict[str, int]:
    found = shutil.disk_usage(application.settings().data_dir)
    return {"free": found.free, "total": found.total}


def places() -> dict[str, Any]:
    """State, age and attribution of the geolocation database."""
    settings, status = application.settings(), redirect_context().geolocation.status
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
    found = {"Waypost": VERSION, "Python": platform.python_version()}
    if db.engine.dialect.name == "sqlite":
        found["SQLite"] = sqlite3.sqlite_version
    else:
        found["PostgreSQL"] = str(db.session.scalar(text("SHOW server_version"))).partition(" ")[0]
    return found | {name: importlib.metadata.version(name) for name in LIBRARIES}


FOLDER = "dashboard/instance"
GIVEN_UP_AFTER = dt.timedelta(minutes=10)
ORIGINS = "setting_origins"


def init_app(app: Flask) -> None:
    app.extensions[ORIGINS] = config_sources.origins()


@blueprint.get("/instance/", endpoint="instance")
@admins_only
def show() -> ResponseReturnValue:
    """The whole page, or for htmx the part that refreshes itself: nothing in it can have the focus."""
    shown = {"here": "instance", "zone": rendering.owner_zone(), **live()}
    if rendering.is_fragment():
        return rendering.render_page("", f"{FOLDER}/_live.html", **shown)
    settings = application.settings()
    whole = {
        **shown,
        **mail(),
        "places": places(),
        "versions": versions(),
        "settings": config_sources.effective_settings(settings, current_app.extensions[ORIGINS]),
    }
    response: Response = make_response(render_template(f"{FOLDER}/page.html", **whole))
    response.vary.add("HX-Request")
    return response


def mail() -> dict[str, Any]:
    mine = SystemEmail.user_id == signed_in_user().id, SystemEmail.about == "test"
    settings = application.settings()
    return {
        "smtp": config_sources.text_of("SMTP_URL", settings.smtp_url),
        "mail_from": settings.mail_from,
        # a guess: the worker sends these mails, and has no request to take the address from
        "site_of_mails": "" if settings.dashboard_url or settings.base_url else site_of(settings).owners,
        "test_email": db.session.scalar(
            select(SystemEmail).where(*mine).order_by(SystemEmail.id.desc()).limit(1)
        ),
        "zone": rendering.owner_zone(),
    }


@blueprint.get("/instance/mail", endpoint="instance_mail")
@admins_only
def show_mail() -> ResponseReturnValue:
    return rendering.render_page(f"{FOLDER}/mail.html", f"{FOLDER}/_mail.html", here="instance", **mail())


@blueprint.post("/instance/mail", endpoint="instance_mail_write")
@admins_only
def send_mail() -> ResponseReturnValue:
    """Queue a test mail to the signed-in admin, one at a time. The worker sends it."""
    if application.settings().smtp_url:
        content = system_email.Content(
            title=_("Mail from Waypost works"),
            text=_("You asked for this test on the page of your instance."),
            url=urls.dashboard_site() + url_for("dashboard.instance"),
            language=signed_in_user().language,
        )
        begin_write(db.session)
        system_email.withdraw(db.session, "test")
        system_email.enqueue(
            db.session,
            signed_in_user().id,
            "test",
            signed_in_user().email,
            content,
            clock.now() + GIVEN_UP_AFTER,
        )
        db.session.commit()
    if rendering.is_fragment():
        return show_mail()
    return rendering.redirect_with("", url_for("dashboard.instance_mail"))
