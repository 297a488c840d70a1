"""Which tools there are. Each is one operation of the API, and its input schema is the API's own.

The schemas come from the OpenAPI document of the instance, so they are those of its version.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from waypost_client.calls import Endpoint

Schema = dict[str, Any]
PAGE_SIZE = 25  # rows of a list: what an assistant reads is paid for and remembered


class Effect(Enum):
    """What a tool does to the account."""

    READS = "reads"
    CHANGES = "changes"
    DELETES = "deletes"


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """One tool. `fixed`: values that it always sends; `left_out` and `only` narrow the operation's fields.

    `columns`: the fields of a list's rows that are shown; empty for all.
    """

    name: str
    operation: str
    title: str
    description: str
    effect: Effect = Effect.READS
    fixed: Mapping[str, Any] = field(default_factory=dict)
    left_out: Collection[str] = ()
    only: str = ""  # the beginning of the names of a body's fields
    columns: Sequence[str] = ()


LINK_COLUMNS = ("id", "short_url", "location_url", "title", "tags", "clicks", "is_enabled", "targeting_type")
IN_PAGES = {"results_per_page": PAGE_SIZE}
NOT_BULK = ("is_bulk", "location_urls")
ONE_FOR_ALL = ("url", "location_url")
TOOLS = (
    ToolSpec(
        name="list_links",
        operation="links_find",
        title="List short links",
        description=f"Lists short links, {PAGE_SIZE} on a page (`page`). get_link has all of one.",
        fixed=IN_PAGES,
        columns=LINK_COLUMNS,
    ),
    ToolSpec(
        name="get_link",
        operation="links_read",
        title="Read a short link",
        description="Reads all settings of a short link, its targeting included.",
    ),
    ToolSpec(
        name="explain_link",
        operation="links_explain",
        title="Explain a redirect",
        description="Says what such a visitor gets from a short link, and by which step. Counts nothing.",
    ),
    ToolSpec(
        name="link_statistics",
        operation="statistics_link",
        title="Statistics of a link",
        description="Clicks (`pageviews`) and visitors of a short link, by day or by what `type` says.",
        fixed={"format": "json"},
    ),
    ToolSpec(
        name="account_statistics",
        operation="statistics",
        title="Statistics of all links",
        description="Clicks (`pageviews`) and visitors of all links together, by day or by what `type` says.",
        fixed={"format": "json"},
    ),
    ToolSpec(
        name="link_qr_code",
        operation="links_qr",
        title="QR code of a link",
        description="Draws the QR code of a short link as a picture.",
        fixed={"format": "png"},
    ),
    ToolSpec(
        name="list_pixels",
        operation="pixels_find",
        title="List pixels",
        description="Lists tracking pixels, whose ids are a link's `pixels_ids`.",
        fixed=IN_PAGES,
    ),
    ToolSpec(
        name="list_handlers",
        operation="notification-handlers_find",
        title="List notification handlers",
        description="Lists who is notified; their ids are a link's `email_reports`. Secrets are not shown.",
        fixed=IN_PAGES,
    ),
    ToolSpec(
        name="list_deliveries",
        operation="notification-handlers_deliveries",
        title="Deliveries of a handler",
        description="Lists what was sent to a notification handler, newest first, with every attempt.",
        fixed=IN_PAGES,
    ),
    ToolSpec(
        name="list_projects",
        operation="projects_find",
        title="List projects",
        description="Lists projects, which group links.",
        fixed=IN_PAGES,
    ),
    ToolSpec(
        name="list_domains",
        operation="domains_find",
        title="List domains",
        description="Lists the domains that short links may have.",
        fixed=IN_PAGES,
        columns=("id", "host", "is_enabled", "is_verified"),
    ),
    ToolSpec(
        name="list_trash",
        operation="trash_find",
        title="List the trash",
        description="Lists what was deleted in the last 30 days; `id` is what restore_from_trash wants.",
        fixed=IN_PAGES,
    ),
    ToolSpec(
        name="create_link",
        operation="links_post",
        title="Create a short link",
        description="Creates a short link to `location_url`. Without `url` its alias is random.",
        effect=Effect.CHANGES,
        left_out=NOT_BULK,
    ),
    ToolSpec(
        name="create_links",
        operation="links_post",
        title="Create many short links",
        description="Creates a short link for each of `location_urls` with the same settings: all, or none.",
        effect=Effect.CHANGES,
        fixed={"is_bulk": True},
        left_out=ONE_FOR_ALL,
    ),
    ToolSpec(
        name="update_link",
        operation="links_update",
        title="Change a short link",
        description="Changes the given fields of a short link, and no others; an empty text clears a field.",
        effect=Effect.CHANGES,
    ),
    ToolSpec(
        name="set_targeting",
        operation="links_update",
        title="Set a link's targeting",
        description="Replaces the targeting of a link: keys in `targeting_<type>_key`, destinations in the "
        "same order in `targeting_<type>_value`. An empty `targeting_type` ends it. explain_link checks it.",
        effect=Effect.CHANGES,
        only="targeting_",
    ),
    ToolSpec(
        name="create_pixel",
        operation="pixels_post",
        title="Create a pixel",
        description="Adds a tracking pixel, which links can then have.",
        effect=Effect.CHANGES,
    ),
    ToolSpec(
        name="update_pixel",
        operation="pixels_update",
        title="Change a pixel",
        description="Changes the given fields of a tracking pixel.",
        effect=Effect.CHANGES,
    ),
    ToolSpec(
        name="create_handler",
        operation="notification-handlers_post",
        title="Create a notification handler",
        description="Adds somebody to notify. Secrets that it is given are stored, and not shown again here.",
        effect=Effect.CHANGES,
    ),
    ToolSpec(
        name="update_handler",
        operation="notification-handlers_update",
        title="Change a notification handler",
        description="Changes the given fields of a notification handler.",
        effect=Effect.CHANGES,
    ),
    ToolSpec(
        name="test_handler",
        operation="notification-handlers_test",
        title="Send a test message",
        description="Sends a test message to a notification handler now. It leaves Waypost.",
        effect=Effect.CHANGES,
    ),
    ToolSpec(
        name="create_project",
        operation="projects_post",
        title="Create a project",
        description="Creates a project, which groups links.",
        effect=Effect.CHANGES,
    ),
    ToolSpec(
        name="restore_from_trash",
        operation="trash_restore",
        title="Restore from the trash",
        description="Brings back what list_trash has under this id; a link by another `url` if need be.",
        effect=Effect.CHANGES,
    ),
    ToolSpec(
        name="delete_link",
        operation="links_delete",
        title="Delete a short link",
        description="Moves a short link to the trash; it redirects no more. Restorable for 30 days.",
        effect=Effect.DELETES,
    ),
    ToolSpec(
        name="delete_pixel",
        operation="pixels_delete",
        title="Delete a pixel",
        description="Moves a pixel to the trash and takes it off its links. Restorable for 30 days.",
        effect=Effect.DELETES,
    ),
    ToolSpec(
        name="delete_handler",
        operation="notification-handlers_delete",
        title="Delete a notification handler",
        description="Moves a notification handler to the trash. Restorable for 30 days.",
        effect=Effect.DELETES,
    ),
)


@dataclass(frozen=True)
class BoundTool:
    """A tool with what the OpenAPI document says of its operation. `places`: where each argument goes."""

    spec: ToolSpec
    endpoint: Endpoint
    places: Mapping[str, str]
    input_schema: Schema


def bind_tools(openapi: Mapping[str, Any], *, may_write: bool) -> dict[str, BoundTool]:
    """The tools by name that this instance has operations for, and that a key may use."""
    found = {one["operationId"]: (method, path, one) for method, path, one in operations(openapi)}
    return {
        spec.name: bind(spec, *found[spec.operation], openapi)
        for spec in TOOLS
        if spec.operation in found and (may_write or spec.effect is Effect.READS)
    }


def operations(openapi: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for path, methods in openapi["paths"].items():
        for method, one in methods.items():
            yield method.upper(), path, one


def bind(spec: ToolSpec, method: str, path: str, told: Any, openapi: Mapping[str, Any]) -> BoundTool:
    parameters = [one for one in told["parameters"] if one["in"] in {"path", "query"}]
    body = body_of(told, openapi)
    properties = {one["name"]: one["schema"] for one in parameters}
    places = {one["name"]: one["in"] for one in parameters}
    for name, schema in body.get("properties", {}).items():
        if name.startswith(spec.only):
            properties[name], places[name] = schema, "body"
    hidden = {*spec.fixed, *spec.left_out}
    required = [one["name"] for one in parameters if one.get("required")] + body.get("required", [])
    required += required_of_ways(body, hidden)
    schema = {
        "type": "object",
        "properties": {name: one for name, one in properties.items() if name not in hidden},
        "required": [name for name in dict.fromkeys(required) if name not in hidden],
        "additionalProperties": False,
    }
    is_create = any(one["name"] == "Idempotency-Key" for one in told["parameters"])
    return BoundTool(spec, Endpoint(spec.operation, method, path, is_create), places, schema)


def body_of(told: Any, openapi: Mapping[str, Any]) -> Schema:
    """The schema of an operation's JSON body, with the properties of all its ways; empty without a body.

    A body that can be sent in one of several ways has `anyOf` beside its properties. Many assistants take no
    schema with that at its top, so a tool is for one way.
    """
    if "requestBody" not in told:
        return {}
    reference = told["requestBody"]["content"]["application/json"]["schema"]["$ref"]
    schema: Schema = openapi["components"]["schemas"][reference.rpartition("/")[2]]
    properties = dict(schema["properties"])
    for way in schema.get("anyOf", ()):
        properties |= way["properties"]
    return {**schema, "properties": properties}


def required_of_ways(body: Schema, hidden: Collection[str]) -> list[str]:
    """What the way of a tool requires: that of which it leaves nothing out, save what it fixes itself."""
    for way in body.get("anyOf", ()):
        if all(name not in hidden or name == "is_bulk" for name in way["required"]):
            return list(way["required"])
    return []
