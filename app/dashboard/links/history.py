"""History page of a link, and the return to an earlier state."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Response, url_for
from flask.typing import ResponseReturnValue

from app.accounts.ownership import get_owned
from app.core.database import begin_write
from app.core.errors import AliasTaken, Invalid
from app.core.extensions import db
from app.dashboard.links.history_words import Wording, describe_problem
from app.dashboard.links.link_cautions import back_cautions
from app.dashboard.links.rows import short_address
from app.dashboard.links.views import FAMILY
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.form_views import Caution, asks
from app.dashboard.shared.workspace import current_access
from app.i18n.messages import gettext as _
from app.links import bulk_undo, services
from app.links.earlier_versions import as_sent
from app.links.history import changes_back_to, history_of
from app.links.models import Link, LinkChange
from app.web.errors import status_of


@blueprint.get("/links/<int:id>/history", endpoint="links_history")
def show(id: int) -> Response:
    return render_history(get_owned(current_access(), Link, id))


def render_history(
    link: Link, problem: str = "", status: int = 200, cautions: Sequence[Caution] = (), change_id: int = 0
) -> Response:
    """The page. `cautions`: what the return to the change `change_id` breaks."""
    history = history_of(link)
    return rendering.render_page(
        "dashboard/history/page.html",
        "dashboard/history/_history.html",
        status=status,
        here="links",
        family=FAMILY,
        link=link,
        history=history,
        wording=Wording(link.workspace_id, history, rendering.owner_zone()),
        together=bulk_undo.count_links(link.workspace_id, (one.batch for one in history if one.batch)),
        zone=rendering.owner_zone(),
        heading=_("History of %(address)s", address=short_address(link)),
        problem=problem,
        cautions=cautions,
        change_id=change_id,
    )


def in_dialog(answer: Response) -> Response:
    answer.headers["HX-Retarget"] = "#sheet-box"
    return answer


@blueprint.post("/links/<int:id>/history/<int:change_id>", endpoint="links_revert")
def revert(id: int, change_id: int) -> ResponseReturnValue:
    """Restore the link as it was right after this change. A question or error is shown above the history."""
    begin_write(db.session)
    link = get_owned(current_access(), Link, id)
    try:
        changes = changes_back_to(link, change_id)
        FAMILY.make_form(as_sent(link, changes), link).require_valid()
        if asks(cautions := back_cautions(link, changes)):
            db.session.rollback()
            return in_dialog(render_history(link, status=409, cautions=cautions, change_id=change_id))
        before = history_of(link)[0]
        services.revert(link, change_id)
        undo = undo_address(link, before)
        db.session.commit()
    except (Invalid, AliasTaken) as error:
        db.session.rollback()
        problem = " ".join(describe_problem(one) for one in error.errors)
        return in_dialog(render_history(get_owned(current_access(), Link, id), problem, status_of(error)))
    message = _("The earlier version of %(address)s is restored.", address=short_address(link))
    if rendering.is_fragment() and rendering.is_at(FAMILY.address()):
        return rendering.swap_part(message, FAMILY.row(link), f"#row-{link.id}", "outerHTML", undo=undo)
    return rendering.redirect_with(message, FAMILY.address(), undo=undo)


def undo_address(link: Link, before: LinkChange) -> str:
    """What takes a return back: the return to the newest change before it. "" where nothing was changed."""
    is_changed = history_of(link)[0].id != before.id
    return url_for("dashboard.links_revert", id=link.id, change_id=before.id) if is_changed else ""
