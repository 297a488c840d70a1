"""Pages where an owner creates, lists and revokes share addresses of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import escape
from sqlalchemy import select

from app.accounts.access import get_owned
from app.analytics.sharing import services
from app.analytics.sharing.forms import DEFAULTS, PARTS, PERIODS, ShareForm
from app.analytics.sharing.models import StatisticsShare
from app.core.database import begin_write
from app.core.errors import NotFound
from app.core.extensions import db
from app.dashboard.auth.access import submitted_form
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.links.rows import short_address
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.crud_views import Context
from app.dashboard.shared.form_views import FormView, add_form
from app.dashboard.shared.workspace import current_access
from app.dashboard.statistics.scopes import PageScope, all_links_scope, links_of, of_link, of_project
from app.i18n.messages import gettext as _
from app.input.data import RequestData
from app.input.forms import ResourceForm
from app.projects.models import Project
from app.web import urls
from app.web.body import read_params

FOLDER = "dashboard/shares"
EMBED_SIZE = (640, 420)  # of the frame, in pixels


@blueprint.get("/shares/", endpoint="shares")
def show_list() -> ResponseReturnValue:
    return render_page("list", **rows())


def rows() -> Context:
    shares = services.list_shares(db.session, current_access())
    return {
        "shares": shares,
        "zone": rendering.owner_zone(),
        "state_of": services.state_of,
        "periods": PERIODS,
        "titles": titles(shares),
    }


class ShareViews(FormView):
    """The forms of a share address."""

    services = services

    def get_row(self, id: int) -> StatisticsShare:
        """The user's share address with this id. Raises NotFound for one that has ended."""
        row = get_owned(current_access(), StatisticsShare, id)
        if services.state_of(row) != "active":
            raise NotFound("page")
        return row

    def make_form(self, fields: RequestData | None, stored: Any, **options: Any) -> ShareForm:
        zone = rendering.owner_zone()
        return ShareForm(fields, owner=current_access(), stored=stored, zone=zone, **options)

    def ask_new(self) -> ResponseReturnValue:
        scope = asked_scope()
        shown: dict[str, Any] = {**DEFAULTS, "name": scope.title}
        if scope.id is not None:
            shown["link_id" if scope.link else "project_id"] = scope.id
        return self.form_page(self.make_form(None, None, data=shown))

    def ask_again(self, id: int | None = None) -> ResponseReturnValue:
        """The form again, with what was typed: the owner's password was missing or wrong."""
        return self.form_page(self.read_form(submitted_form(), None if id is None else self.get_row(id)))

    def form_page(self, form: ResourceForm, status: int = 200) -> ResponseReturnValue:
        row: StatisticsShare | None = form.stored
        return render_page(
            "form",
            status,
            form=form,
            row=row,
            heading=_("Edit share address") if row else _("Share these statistics"),
            options=[{"id": name, "name": title, "kind": ""} for name, title in PARTS.items()],
            of=titles([row])[row.id] if row else scope_title(form),
        )

    def created(self, row: tuple[StatisticsShare, str]) -> ResponseReturnValue:
        response = show_address(row[0], _("The statistics are shared"))
        response.headers["HX-Trigger"] = "shares-changed"
        return response

    def updated(self, row: StatisticsShare) -> ResponseReturnValue:
        return show_list_again(_("%(name)s is saved.", name=row.name))


VIEWS = ShareViews()
again = reauthenticated(VIEWS.ask_again)
add_form("/shares/new", "shares_new", VIEWS.ask_new, again(VIEWS.create))
add_form("/shares/<int:id>/edit", "shares_edit", VIEWS.ask_edit, again(VIEWS.update))


def titles(shares: Sequence[StatisticsShare]) -> dict[int, str]:
    """What each share address is of: a short link, a project, or all links."""
    links = links_of({share.link_id for share in shares if share.link_id})
    wanted = select(Project).where(Project.id.in_({share.project_id for share in shares if share.project_id}))
    projects = {project.id: project for project in db.session.scalars(wanted)}
    return {
        share.id: short_address(links[share.link_id])
        if share.link_id in links
        else projects[share.project_id].name
        if share.project_id in projects
        else _("All links")
        for share in shares
    }


def asked_scope() -> PageScope:
    """The scope that the address names. Raises NotFound for what is not the user's."""
    params = read_params()
    for name, find in (("link_id", of_link), ("project_id", of_project)):
        if text := params.get(name):
            if not (text.isascii() and text.isdigit() and len(text) < 20):
                raise NotFound("page")
            return find(current_access(), int(text))
    return all_links_scope(current_access())


@blueprint.get("/shares/<int:id>", endpoint="shares_show")
def show(id: int) -> ResponseReturnValue:
    return show_address(get_owned(current_access(), StatisticsShare, id), _("Share address"))


def show_address(share: StatisticsShare, heading: str) -> Response:
    """The address to copy, and the code that embeds it. Without the token, its owner is told why."""
    token = share.sealed_token.get("token", "") if services.state_of(share) == "active" else ""
    site = urls.dashboard_site()
    address = site + url_for("shared.show", token=token) if token else ""
    return render_page(
        "created",
        row=share,
        heading=heading,
        address=address,
        snippet=snippet(share, f"{address}/embed") if token and share.is_embeddable else "",
        state=services.state_of(share),
        zone=rendering.owner_zone(),
    )


def snippet(share: StatisticsShare, address: str) -> str:
    """The HTML to put into another page."""
    width, height = EMBED_SIZE
    return (
        f'<iframe src="{address}" title="{escape(share.name)}" width="{width}" height="{height}" '
        'style="border:0" loading="lazy" referrerpolicy="no-referrer"></iframe>'
    )


@blueprint.get("/shares/<int:id>/revoke", endpoint="shares_revoke")
def ask_revoke(id: int) -> ResponseReturnValue:
    row = get_owned(current_access(), StatisticsShare, id)
    return render_page("revoke", row=row, heading=_("Revoke this share address?"))


@blueprint.post("/shares/<int:id>/revoke", endpoint="shares_revoke_write")
def revoke(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    row = get_owned(current_access(), StatisticsShare, id)
    services.revoke(row)
    message = _("%(name)s is revoked.", name=row.name)
    db.session.commit()
    return show_list_again(message)


def show_list_again(message: str) -> ResponseReturnValue:
    return rendering.show_list(
        message, url_for("dashboard.shares"), lambda: render_template(f"{FOLDER}/_list.html", **rows())
    )


def scope_title(form: ResourceForm) -> str:
    """What the form's new share address will be of."""
    for name, find in (("link_id", of_link), ("project_id", of_project)):
        if form[name].data and not form[name].errors:
            return find(current_access(), form[name].data).title
    return _("All links")


def render_page(name: str, status: int = 200, **context: object) -> Response:
    context |= {"here": "statistics", "is_list": request.endpoint == "dashboard.shares"}
    return rendering.render_in(FOLDER, name, status, **context)
