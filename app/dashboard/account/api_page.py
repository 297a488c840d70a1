"""What can an owner's own programs ask, and how is each call made by hand?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from flask import Blueprint, render_template
from flask.typing import ResponseReturnValue
from markupsafe import Markup, escape
from sqlalchemy import func, select

from app import own_addresses
from app.api import RESOURCES
from app.api.openapi import curl
from app.api.openapi.document import OF_READS, PROBLEMS, body
from app.api.openapi.fields import Schema
from app.api.openapi.operations import Operation, operations
from app.dashboard.guard import user
from app.extensions import db
from app.languages import digits, say


class Told(NamedTuple):
    """One thing that a call takes: where it goes, and what it may be."""

    name: str
    place: str
    allowed: Markup
    is_required: bool


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/api/", "api", show)


def show() -> ResponseReturnValue:
    site, every, ids = own_addresses.owners_site(), operations(RESOURCES), newest_ids()
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
    """A row of each kind that a call can be tried on, by the first part of its path."""
    found = {}
    for resource in RESOURCES:
        newest = select(func.max(resource.model.id)).where(resource.model.user_id == user().id)
        if id_ := db.session.scalar(newest):
            found[resource.path.strip("/")] = id_
    return found | ({"statistics": found["links"]} if "links" in found else {})


def takes(one: Operation) -> list[Told]:
    asked = [Told(name, "query", in_words(schema), False) for name, schema in one.query.items()]
    return asked + (fields(body(one)) if one.form else [])


def fields(schema: Schema) -> list[Told]:
    required = set(schema.get("required", ()))
    required |= set(schema.get("anyOf", [{}])[0].get("required", ()))
    properties: Mapping[str, Schema] = schema["properties"]
    return [
        Told(name, str(one.get("title", "")), in_words(one), name in required)
        for name, one in properties.items()
    ]


def in_words(schema: Schema) -> Markup:
    """What a schema allows, for people, in the reader's language; values of the API's own as code."""
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
