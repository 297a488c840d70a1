"""Pages where an owner creates, lists and revokes share addresses of statistics."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from markupsafe import escape
from sqlalchemy import select

from app.accounts.ownership import get_owned
from app.accounts.passwords import hash_password
from app.analytics.sharing import services
from app.analytics.sharing.forms import DEFAULTS, PARTS, PERIODS, ShareForm
from app.analytics.sharing.models import StatisticsShare
from app.core.database import begin_write
from app.core.errors import Invalid, NotFound
from app.core.extensions import db
from app.dashboard.auth.access import signed_in_user, submitted_form
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.links.rows import short_address
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.crud_views import Context, note
from app.dashboard.statistics.scopes import PageScope, all_links_scope, links_of, of_link, of_project
from app.i18n.messages import gettext as _
from app.projects.models import Project
from app.web import urls
from app.web.body import read_params

FOLDER = "dashboard/shares"
EMBED_SIZE = (640, 420)  # of the frame, in pixels


@blueprint.get("/shares/", endpoint="shares")
def show_list() -> ResponseReturnValue:
    return render_page("list", **rows())


def rows() -> Context:
    shares = services.list_shares(db.session, signed_in_user())
    return {
        "shares": shares,
        "zone": rendering.owner_zone(),
        "state_of": services.state_of,
        "periods": PERIODS,
        "titles": titles(shares),
    }


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


@blueprint.get("/shares/new", endpoint="shares_new")
def ask_new() -> ResponseReturnValue:
    scope = asked_scope()
    shown: dict[str, Any] = {**DEFAULTS, "name": scope.title}
    if scope.id is not None:
        shown["link_id" if scope.link else "project_id"] = scope.id
    return form_page(ShareForm(None, owner=signed_in_user(), data=shown))


def asked_scope() -> PageScope:
    """The scope that the address names. Raises NotFound for what is not the user's."""
    params = read_params()
    for name, find in (("link_id", of_link), ("project_id", of_project)):
        if text := params.get(name):
            if not (text.isascii() and text.isdigit() and len(text) < 20):
                raise NotFound("page")
            return find(signed_in_user(), int(text))
    return all_links_scope(signed_in_user())


def ask_new_again() -> ResponseReturnValue:
    """The form again, with what was typed: the password was missing or wrong."""
    return form_page(ShareForm(submitted_form(), owner=signed_in_user()))


@blueprint.post("/shares/new", endpoint="shares_new_write")
@reauthenticated(ask_new_again)
def create() -> ResponseReturnValue:
    form = ShareForm(submitted_form(), owner=signed_in_user())
    if not form.validate():
        return form_page(form, 422)
    password = form.password.data
    password_hash = hash_password(password) if password else None
    begin_write(db.session)
    try:
        share, _token = services.create(signed_in_user(), form.changes, password_hash)
        db.session.commit()
    except Invalid as error:
        note(form, error)
        return form_page(form, 422)
    response = show_address(share, _("The statistics are shared"))
    response.headers["HX-Trigger"] = "shares-changed"
    return response


@blueprint.get("/shares/<int:id>", endpoint="shares_show")
def show(id: int) -> ResponseReturnValue:
    return show_address(get_owned(signed_in_user(), StatisticsShare, id), _("Share address"))


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
        'loading="lazy" referrerpolicy="no-referrer"></iframe>'
    )


@blueprint.get("/shares/<int:id>/revoke", endpoint="shares_revoke")
def ask_revoke(id: int) -> ResponseReturnValue:
    row = get_owned(signed_in_user(), StatisticsShare, id)
    return render_page("revoke", row=row, heading=_("Revoke this share address?"))


@blueprint.post("/shares/<int:id>/revoke", endpoint="shares_revoke_write")
def revoke(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    row = get_owned(signed_in_user(), StatisticsShare, id)
    services.revoke(row)
    message = _("%(name)s is revoked.", name=row.name)
    db.session.commit()
    if not rendering.is_fragment():
        return rendering.redirect_with(message, url_for("dashboard.shares"))
    part = render_template(f"{FOLDER}/_list.html", **rows())
    return rendering.swap_part(message, part, "#results", "innerHTML")


def form_page(form: ShareForm, status: int = 200) -> ResponseReturnValue:
    options = [{"id": name, "name": title, "kind": ""} for name, title in PARTS.items()]
    return render_page(
        "form", status, form=form, heading=_("Share these statistics"), options=options, of=scope_title(form)
    )


def scope_title(form: ShareForm) -> str:
    """What the form's share address will be of."""
    for name, find in (("link_id", of_link), ("project_id", of_project)):
        if form[name].data and not form[name].errors:
            return find(signed_in_user(), form[name].data).title
    return _("All links")


def render_page(name: str, status: int = 200, **context: object) -> Response:
    whole = f"{FOLDER}/list.html" if name == "list" else f"{FOLDER}/page.html"
    context |= {"here": "statistics", "is_list": request.endpoint == "dashboard.shares"}
    return rendering.render_page(whole, f"{FOLDER}/_{name}.html", status=status, **context)
