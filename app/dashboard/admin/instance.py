"""Instance page for admins: health, settings, versions, and a test mail."""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import Flask, Response, current_app, make_response, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from app.core import clock, config_sources
from app.core.database import begin_write
from app.core.extensions import db
from app.dashboard.admin import instance_facts
from app.dashboard.auth.access import admins_only, signed_in_user
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _
from app.notifications import system_email
from app.notifications.models import SystemEmail
from app.notifications.site import site_of
from app.web import application, urls

FOLDER = "dashboard/instance"
GIVEN_UP_AFTER = dt.timedelta(minutes=10)
ORIGINS = "setting_origins"


def init_app(app: Flask) -> None:
    app.extensions[ORIGINS] = config_sources.origins()


@blueprint.get("/instance/", endpoint="instance")
@admins_only
def show() -> ResponseReturnValue:
    """The whole page, or for htmx the part that refreshes itself: nothing in it can have the focus."""
    live = {"here": "instance", "zone": rendering.owner_zone(), **instance_facts.live()}
    if rendering.is_fragment():
        return rendering.render_page("", f"{FOLDER}/_live.html", **live)
    settings = application.settings()
    whole = {
        **live,
        **mail(),
        "places": instance_facts.places(),
        "versions": instance_facts.versions(),
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
