"""Writes docs/api-reference.md from the OpenAPI document: `python -m scripts.api_page`

It has what a reader looks up: paths, parameters, fields and answers. The document itself has the patterns.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any

from app.core.folders import ROOT
from app.openapi.document import document

PAGE = ROOT / "docs" / "api-reference.md"
COMMAND = "python -m scripts.api_page"
DATE = "^(?:(?:000"  # how the pattern of a time begins
MANY = 16
Schema = Mapping[str, Any]

HEAD = f"""# API reference

<!-- Written by `{COMMAND}` from the OpenAPI document of the code. -->

Every call of the [API](api.md), which explains what all share: keys, bodies, lists, errors and limits. The
complete document with the pattern of each value is `GET /api/openapi.json`, or `./waypost openapi`.

"""


def main() -> None:
    PAGE.write_text(render())
    sys.stdout.write(f"{PAGE.relative_to(ROOT)}\n")


def render() -> str:
    """The page as it must be."""
    api = document("https://go.example")
    found: dict[str, list[str]] = {tag["name"]: [] for tag in api["tags"]}
    for path, methods in api["paths"].items():
        for method, operation in methods.items():
            if isinstance(operation, dict):
                shared = methods.get("parameters", [])
                found[operation["tags"][0]].append(describe_call(api, path, method, operation, shared))
    schemas = api["components"]["schemas"]
    objects = "".join(
        f"### {name}\n\n{table('Field', fields_of(api, schema))}\n"
        for name, schema in schemas.items()
        if not name.endswith(("Create", "CreateForm", "Update", "UpdateForm")) and schema.get("properties")
    )
    calls = "".join(f"## {tag}\n\n{''.join(some)}" for tag, some in found.items() if some)
    return f"{HEAD}{calls}## Objects\n\nWhat the answers hold.\n\n{objects}".rstrip("\n") + "\n"


def describe_call(
    api: Schema, path: str, method: str, operation: Mapping[str, Any], shared: list[Schema]
) -> str:
    parts = [f"### {operation['summary']}\n\n`{method.upper()} /api{path}`\n"]
    if said := operation.get("description"):
        parts.append(f"{said}\n")
    parameters = [resolve(api, one) for one in [*shared, *operation.get("parameters", [])]]
    rows = [(one["name"], one["in"], one["schema"], one.get("description", "")) for one in parameters]
    if rows:
        parts.append(
            table("Parameter", [(f"`{name}` ({place})", kind, said) for name, place, kind, said in rows])
        )
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body:
        parts.append(
            f"Body:\n\n{table('Field', fields_of(api, resolve(api, body['schema'])))}".rstrip("\n") + "\n"
        )
    answers = operation["responses"].items()
    parts.append(f"Answers: {', '.join(describe_answer(api, code, one) for code, one in answers)}.\n")
    return "\n".join(parts) + "\n"


def describe_answer(api: Schema, code: str, answer: Schema) -> str:
    content = resolve(api, answer).get("content", {})
    if code == "default":
        return "any other error as [Problem](#problem)"
    kinds = [name for name in content if "json" not in name]
    data = content.get("application/json", {}).get("schema", {}).get("properties", {}).get("data", {})
    target = data.get("items", data).get("$ref", "").rpartition("/")[2]
    if target and code.startswith("2"):
        return f"{code} with {'a list of ' if 'items' in data else ''}[{target}](#{target.lower()})"
    return (
        f"{code} with {' or '.join(f'`{kind}`' for kind in kinds)}"
        if kinds and code.startswith("2")
        else code
    )


def resolve(api: Schema, one: Schema) -> Schema:
    """What a reference names, or the thing itself."""
    if "$ref" not in one:
        return one
    found: Any = api
    for key in one["$ref"].removeprefix("#/").split("/"):
        found = found[key]
    return resolve(api, found)


def fields_of(api: Schema, schema: Schema) -> list[tuple[str, Schema, str]]:
    required = set(schema.get("required", ()))
    rows = []
    for name, one in schema.get("properties", {}).items():
        must = ", required" if name in required and "Create" in str(schema.get("title", "")) else ""
        rows.append((f"`{name}`{must}", one, resolve(api, one).get("description", "")))
    return rows


def table(heading: str, rows: Iterable[tuple[str, Schema, str]]) -> str:
    lines = "".join(f"| {name} | {describe_values(one)} | {one_line(said)} |\n" for name, one, said in rows)
    return f"| {heading} | Values | |\n|---|---|---|\n{lines}" if lines else ""


def one_line(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def describe_values(schema: Schema) -> str:
    """The values in words: types, bounds and short closed sets, without patterns."""
    if reference := schema.get("$ref"):
        name = reference.rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in schema:
        values = list(dict.fromkeys(str(value) for value in schema["enum"] if value not in ("", None)))
        shown = ", ".join(f"`{value}`" for value in values[:MANY])
        return f"{shown} and {len(values) - MANY} others" if len(values) > MANY else shown
    for key in ("anyOf", "oneOf"):
        if key in schema:
            said = [describe_values(one) for one in schema[key] if one.get("maxLength") != 0]
            return simplest([one for one in said if one])
    return describe_type(schema)


def simplest(said: list[str]) -> str:
    """The kind that a value really is: on input each may also be sent as its text, which api.md says once."""
    for kind in ("list", "boolean", "integer", "time"):
        for one in said:
            if one.startswith(kind):
                return one
    return " or ".join(dict.fromkeys(said))


def describe_type(schema: Schema) -> str:
    kinds = schema.get("type", "any")
    names = [kind for kind in ([kinds] if isinstance(kinds, str) else kinds) if kind != "null"]
    if schema.get("pattern", "").startswith(DATE):
        return "time"
    if {"string", "integer"} <= set(names):
        names.remove("integer")
    words = {"string": "text", "any": ""}
    if "array" in names:
        inner = describe_values(schema.get("items", {}))
        return f"list of {inner}"
    said = " or ".join(words.get(name, name) for name in names)
    low, high = schema.get("minimum"), schema.get("maximum")
    if "integer" in names and low is not None and high is not None and high < 2**31:
        said += f" from {low:,} to {high:,}"
    longest = schema.get("maxLength")
    if "string" in names and longest and "format" not in schema and not schema.get("contentMediaType"):
        said += f", at most {longest:,} characters"
    if schema.get("format") == "uri":
        said = "URL"
    return said + (" or null" if not isinstance(kinds, str) and "null" in kinds else "")


if __name__ == "__main__":
    main()
