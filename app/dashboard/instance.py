"""How does an admin see that this instance is well, and what it is set to?"""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import Blueprint, Flask, Response, current_app, make_response, render_template, url_for
from flask.typing import ResponseReturnValue
from sqlalchemy import select

from app import clock, origins, own_addresses
from app.dashboard import instance_facts, pages
from app.dashboard.admins import admins_only
from app.dashboard.guard import user
from app.database import begin_write
from app.extensions import db
from app.languages import say
from app.notifications import letters
from app.notifications.models import Letter
from app.notifications.site import site_of

FOLDER = "dashboard/instance"
GIVEN_UP_AFTER = dt.timedelta(minutes=10)
ORIGINS = "setting_origins"


def init_app(app: Flask) -> None:
    app.extensions[ORIGINS] = origins.origins()


def register(blueprint: Blueprint) -> None:
    rule = blueprint.add_url_rule
    rule("/instance/", "instance", admins_only(show))
    rule("/instance/mail", "instance_mail", admins_only(show_mail))
    rule("/instance/mail", "instance_mail_write", admins_only(send_mail), methods=["POST"])


def show() -> ResponseReturnValue:
    """The whole page, or for htmx what changes by itself: nothing in it can have the focus."""
    live = {"here": "instance", "zone": pages.zone(), **instance_facts.live()}
    if pages.is_fragment():
        return pages.page("", f"{FOLDER}/_live.html", **live)
    settings = own_addresses.settings()
    whole = {
        **live,
        **mail(),
        "places": instance_facts.places(),
        "versions": instance_facts.versions(),
        "settings": origins.shown(settings, current_app.extensions[ORIGINS]),
    }
    response: Response = make_response(render_template(f"{FOLDER}/page.html", **whole))
    response.vary.add("HX-Request")
    return response


def mail() -> dict[str, Any]:
    mine = Letter.user_id == user().id, Letter.about == "test"
    settings = own_addresses.settings()
    return {
        "smtp": origins.text_of("SMTP_URL", settings.smtp_url),
        "mail_from": settings.mail_from,
        # a guess: for mails that the worker sends, no request tells how people come here
        "site_of_mails": "" if settings.dashboard_url or settings.base_url else site_of(settings).owners,
        "letter": db.session.scalar(select(Letter).where(*mine).order_by(Letter.id.desc()).limit(1)),
        "zone": pages.zone(),
    }


def show_mail() -> ResponseReturnValue:
    return pages.page(f"{FOLDER}/mail.html", f"{FOLDER}/_mail.html", here="instance", **mail())


def send_mail() -> ResponseReturnValue:
    """The worker sends it, to whoever asks for it; one at a time."""
    if own_addresses.settings().smtp_url:
        content = letters.Content(
            title=say("Mail from Waypost works"),
            text=say("You asked for this test on the page of your instance."),
            url=own_addresses.owners_site() + url_for("dashboard.instance"),
            language=user().language,
        )
        begin_write(db.session)
        letters.withdraw(db.session, "test")
        letters.post(db.session, user().id, "test", user().email, content, clock.now() + GIVEN_UP_AFTER)
        db.session.commit()
    if pages.is_fragment():
        return show_mail()
    return pages.sent_on("", url_for("dashboard.instance_mail"))
