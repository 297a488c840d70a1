"""API page: every operation with its parameters and a curl command to try it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flask import render_template
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape
from sqlalchemy import func, select

from app.core.extensions import db
from app.dashboard.auth.access import user
from app.dashboard.shared.blueprint import blueprint
from app.i18n import digits, say
from app.openapi import curl
from app.openapi.document import OF_READS, PROBLEMS, body
from app.openapi.fields import Schema
from app.openapi.operations import RESOURCES, Operation, operations
from app.web import urls


class ParameterRow(NamedTuple):
    """One parameter or body field of an operation: where it goes, and what it may be."""

    name: str
    place: str
    allowed: Markup
    is_required: bool


@blueprint.get("/api/", endpoint="api")
def show() -> ResponseReturnValue:
    site, every, ids = urls.owners_site(), operations(), newest_ids()
    return render_template(
        "dashboard/api/page.html",
        here="api",
        site=site,
        tags=list(dict.fromkeys(one.tag for one in every)),
        operations=every,
        lines={one.name: curl.line(site, one, ids) for one in every},
        takes={one.name: takes(one) for one in every},
        problems=PROBLEMS,
        of_reads=OF_READS,
    )


def newest_ids() -> dict[str, int]:
    """Ids for the curl commands: the owner's newest row of each resource, by the first part of its path."""
    found = {}
    for path, kind in RESOURCES.items():
        newest = select(func.max(kind.model.id)).where(kind.model.user_id == user().id)
        if id_ := db.session.scalar(newest):
            found[path.strip("/")] = id_
    return found | ({"statistics": found["links"]} if "links" in found else {})


def takes(one: Operation) -> list[ParameterRow]:
    asked = [ParameterRow(name, "query", in_words(schema), False) for name, schema in one.query.items()]
    return asked + (fields(body(one)) if one.form else [])


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
    found = [kind(schema), say(schema.get("description", "").rstrip("."))]
    if (default := schema.get("default")) is not None:
        found.append(literal(default) + f" {say('unless sent')}")
    return Markup("; ").join(filter(None, found))


def kind(schema: Schema) -> Markup:
    if "enum" in schema:
        return escape(f"{say('one of')} ") + Markup(", ").join(map(literal, schema["enum"]))
    if schema["type"] == "array":
        return escape(f"{say('a list, each')} ") + kind(schema["items"])
    return escape(say(WORDS.get(schema.get("format", ""), WORDS[schema["type"]])) + bounds(schema))


def literal(value: object) -> Markup:
    return Markup("<code>{}</code>").format(value)


def bounds(schema: Schema) -> str:
    if "maxLength" in schema:
        return f", {say('at most')} {digits(schema['maxLength'])} {say('characters')}"
    if "maximum" in schema:
        return f", {digits(schema['minimum'])} – {digits(schema['maximum'])}"
    return ""


WORDS: Mapping[str, str] = {
    "string": "text",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "an object",
    "uri": "an address",
    "date": "a day, like 2026-01-31",
    "email": "an e-mail address",
    "idn-hostname": "a host",
    "binary": "a file",
}
