"""Pages where an owner creates and revokes API keys, and of the API that they open."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple
from urllib.parse import urlencode

from flask import Response, render_template, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape
from sqlalchemy import func, select

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
from app.dashboard.shared.workspace import current_access, workspace_id
from app.events.subscriptions.ending import end_over
from app.i18n import digits
from app.i18n.messages import gettext
from app.i18n.messages import gettext as _
from app.i18n.messages import gettext_noop as _noop
from app.openapi.document import OF_READS, PROBLEMS, body
from app.openapi.fields import Schema
from app.openapi.operations import Operation, operations
from app.openapi.resources import RESOURCES
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
    return rendering.show_list(
        message, url_for("dashboard.keys"), lambda: render_template(f"{FOLDER}/_list.html", **rows())
    )


def form_page(form: KeyForm, status: int = 200) -> ResponseReturnValue:
    return render_page("form", status, form=form, heading=_("Create an API key"), scopes=keys.SCOPES)


def render_page(name: str, status: int = 200, **context: object) -> Response:
    return rendering.render_in(FOLDER, name, status, here="keys", **context)


# --- the API itself: every operation with its parameters and a curl command to try it


AUTHORIZATION = '-H "Authorization: Bearer $WAY_KEY"'  # double quotes, so that the shell inserts the key


class ParameterRow(NamedTuple):
    """One parameter or body field of an operation: where it goes, and what it may be."""

    name: str
    place: str
    allowed: Markup
    is_required: bool


@blueprint.get("/api/", endpoint="api")
def show_api() -> ResponseReturnValue:
    site, every, ids = urls.dashboard_site(), operations(), newest_ids()
    rows = {one.name: takes(one) for one in every}
    return render_template(
        "dashboard/api/page.html",
        here="api",
        site=site,
        tags=list(dict.fromkeys(one.tag for one in every)),
        words=words_of(every, rows.values()),
        operations=every,
        lines={one.name: curl_line(site, one, ids) for one in every},
        takes=rows,
        problems=PROBLEMS,
        of_reads=OF_READS,
    )


def words_of(every: Sequence[Operation], rows: Iterable[Sequence[ParameterRow]]) -> dict[str, str]:
    """The texts of the API's description, which is English, in the reader's language."""
    texts = {*PROBLEMS.values(), *(row.place for some in rows for row in some)}
    for one in every:
        texts |= {one.summary, one.tag}
    return {text: gettext(text) for text in texts if text}


def newest_ids() -> dict[str, int]:
    """Ids for the curl commands: the owner's newest row of each resource, by the first part of its path."""
    found = {}
    for path, kind in RESOURCES.items():
        newest = select(func.max(kind.model.id)).where(kind.model.workspace_id == workspace_id())
        if id_ := db.session.scalar(newest):
            found[path.strip("/")] = id_
    return found | ({"statistics": found["links"]} if "links" in found else {})


def curl_line(site: str, one: Operation, ids: Mapping[str, int]) -> str:
    """The `curl` command of an operation, which works as copied once the key is in `$WAY_KEY`.

    `ids`: a row's id for each first part of a path; default 1.
    """
    kind = one.path.split("/")[1]
    address = f"{site}/api{one.path.replace('{id}', str(ids.get(kind, 1)))}"
    if one.query and one.example:
        address += f"?{urlencode(one.example)}"
    parts = ["curl", "-X DELETE" if one.method == "DELETE" else "", shlex.quote(address)]
    parts += [AUTHORIZATION] if one.needs_key else []
    parts += [f"-F {shlex.quote(f'{name}={value}')}" for name, value in one.example.items() if one.form]
    if one.method == "POST" and not one.form:
        parts.insert(1, "-X POST")
    if one.gives == "image/*":
        parts.append("-o qr.png")
    return " ".join(filter(None, parts))


def takes(one: Operation) -> list[ParameterRow]:
    query_rows = [ParameterRow(name, "query", in_words(schema), False) for name, schema in one.query.items()]
    return query_rows + (fields(body(one)) if one.form else [])


def fields(schema: Schema) -> list[ParameterRow]:
    required = set(schema.get("required", ()))
    required |= set(schema.get("anyOf", [{}])[0].get("required", ()))
    properties: Mapping[str, Schema] = schema["properties"]
    return [
        ParameterRow(name, str(one.get("title", "")), in_words(one), name in required)
        for name, one in properties.items()
    ]


def in_words(schema: Schema) -> Markup:
    """What a schema allows, in the reader's language. The API's own values are marked up as code."""
    description = schema.get("description", "").rstrip(".")
    found = [kind(schema), gettext(description) if description else ""]
    if (default := schema.get("default")) is not None:
        found.append(Markup(escape(_("%(default)s unless sent"))) % {"default": literal(default)})  # noqa: S704
    return Markup("; ").join(filter(None, found))


def kind(schema: Schema) -> Markup:
    if "enum" in schema:
        return escape(_("one of")) + " " + Markup(", ").join(map(literal, schema["enum"]))
    if schema["type"] == "array":
        return escape(_("a list, each")) + " " + kind(schema["items"])
    return escape(bounded(gettext(WORDS.get(schema.get("format", ""), WORDS[schema["type"]])), schema))


def literal(value: object) -> Markup:
    return Markup("<code>{}</code>").format(value)


def bounded(kind: str, schema: Schema) -> str:
    if "maxLength" in schema:
        return _("%(kind)s, at most %(most)s characters", kind=kind, most=digits(schema["maxLength"]))
    if "maximum" in schema:
        return f"{kind}, {digits(schema['minimum'])} – {digits(schema['maximum'])}"
    return kind


WORDS: Mapping[str, str] = {
    "string": _noop("text"),
    "integer": _noop("a whole number"),
    "boolean": _noop("true or false"),
    "object": _noop("an object"),
    "uri": _noop("an address"),
    "date": _noop("a day, like 2026-01-31"),
    "email": _noop("an e-mail address"),
    "idn-hostname": _noop("a host"),
    "binary": _noop("a file"),
}
