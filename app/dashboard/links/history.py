"""What has happened to a link since it was made, and how does an owner go back?"""

from __future__ import annotations

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from app.dashboard import pages
from app.dashboard.change_words import Wording
from app.dashboard.guard import user
from app.dashboard.link_rows import short_address
from app.dashboard.links import FAMILY
from app.database import begin_write
from app.errors import AliasTaken, Invalid
from app.extensions import db
from app.failures import status_of
from app.links import services
from app.links.history import history_of
from app.links.models import Link
from app.ownership import get_owned


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/links/<int:id>/history", "links_history", show)
    blueprint.add_url_rule(
        "/links/<int:id>/history/<int:change_id>", "links_revert", revert, methods=["POST"]
    )


def show(id: int) -> Response:
    return page(get_owned(user(), Link, id))


def page(link: Link, problem: str = "", status: int = 200) -> Response:
    history = history_of(link)
    return pages.page(
        "dashboard/history/page.html",
        "dashboard/history/_history.html",
        status=status,
        here="links",
        family=FAMILY,
        link=link,
        history=history,
        wording=Wording(link.user_id, history, pages.zone()),
        zone=pages.zone(),
        heading=f"History of {short_address(link)}",
        problem=problem,
    )


def revert(id: int, change_id: int) -> ResponseReturnValue:
    """Have it as it was right after this change; what stands in the way is said above the history."""
    begin_write(db.session)
    link = get_owned(user(), Link, id)
    try:
        services.revert(link, change_id)
        db.session.commit()
    except (Invalid, AliasTaken) as error:
        db.session.rollback()
        answer = page(
            get_owned(user(), Link, id), " ".join(one.title for one in error.errors), status_of(error)
        )
        answer.headers["HX-Retarget"] = "#sheet-box"
        return answer
    message = f"{short_address(link)} is as it was."
    if pages.is_fragment() and pages.is_at(FAMILY.address()):
        return pages.swapped(message, FAMILY.row(link), f"#row-{link.id}", "outerHTML")
    return pages.sent_on(message, FAMILY.address())
