"""Pages where an owner creates and revokes API keys."""

from __future__ import annotations

from flask import Response, render_template, url_for
from flask.typing import ResponseReturnValue

from app.accounts import keys
from app.accounts.forms import KeyForm
from app.core import clock
from app.core.database import begin_write
from app.core.extensions import db
from app.dashboard.auth.access import is_shown_again, signed_in_user, submitted_form
from app.dashboard.auth.reauthentication import reauthenticated
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.crud_views import Context
from app.dashboard.shared.workspace import current_access
from app.events.subscriptions.ending import end_over
from app.i18n.messages import gettext as _
from app.web import urls
from app.web.body import read_params

FOLDER = "dashboard/keys"


@blueprint.get("/keys/", endpoint="keys")
def show_list() -> ResponseReturnValue:
    return render_page("list", **rows())


def rows() -> Context:
    return {
        "keys": keys.list_keys(signed_in_user()),
        "zone": rendering.owner_zone(),
        "now": clock.now(),
        "scopes": keys.SCOPES,
    }


@blueprint.get("/keys/new", endpoint="keys_new")
def ask_new() -> ResponseReturnValue:
    """An empty form; with `scope` that one is chosen."""
    scope = read_params().get("scope")
    form = KeyForm(None, owner=signed_in_user())
    form.scope.data = scope if scope in keys.SCOPES else None
    return form_page(form)


def ask_new_again() -> ResponseReturnValue:
    """The form again, with what was typed: the password was missing or wrong."""
    return form_page(KeyForm(submitted_form(), owner=signed_in_user()))


@blueprint.post("/keys/new", endpoint="keys_new_write")
@reauthenticated(ask_new_again)
def create() -> ResponseReturnValue:
    """The key's text is in this one answer and nowhere else: no redirect could carry it."""
    if is_shown_again():
        return ask_new_again()
    form = KeyForm(submitted_form(), owner=signed_in_user())
    if not form.validate():
        return form_page(form, 422)
    begin_write(db.session)
    row, text = keys.create_key(current_access(), **form.changes)
    db.session.commit()
    response = render_page(
        "created", row=row, text=text, site=urls.dashboard_site(), heading=_("Your new API key"), **rows()
    )
    response.headers["HX-Trigger"] = "keys-changed"
    return response


@blueprint.get("/keys/<int:id>/revoke", endpoint="keys_revoke")
def ask_revoke(id: int) -> ResponseReturnValue:
    return render_page("revoke", row=keys.get_key(signed_in_user(), id), heading=_("Revoke this API key?"))


@blueprint.post("/keys/<int:id>/revoke", endpoint="keys_revoke_write")
@reauthenticated(ask_revoke)
def revoke(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    row = keys.get_key(signed_in_user(), id)
    keys.revoke_key(row)
    end_over(db.session)
    db.session.commit()
    message = _("%(name)s is revoked.", name=row.name)
    if not rendering.is_fragment():
        return rendering.redirect_with(message, url_for("dashboard.keys"))
    return rendering.swap_part(
        message, render_template(f"{FOLDER}/_list.html", **rows()), "#results", "innerHTML"
    )


def form_page(form: KeyForm, status: int = 200) -> ResponseReturnValue:
    return render_page("form", status, form=form, heading=_("Create an API key"), scopes=keys.SCOPES)


def render_page(name: str, status: int = 200, **context: object) -> Response:
    whole = f"{FOLDER}/list.html" if name == "list" else f"{FOLDER}/page.html"
    fragment = f"{FOLDER}/_{name}.html"
    return rendering.render_page(whole, fragment, status=status, here="keys", **context)
