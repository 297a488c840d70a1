"""Writes a Postman collection from the OpenAPI document: `make collection`

Bruno and Insomnia import version 2.1, too. Every call is in it, in folders by tag, with all parameters
(switched off) and the example of its body. Address and key are variables, so that no key is in the file.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from app.core.folders import ROOT
from app.openapi.document import document
from app.openapi.operations import operations

FILE = ROOT / "dist" / "waypost.postman_collection.json"
SCHEMA = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
ADDRESS, KEY = "base_url", "api_key"
NOT_OFFERED = frozenset({"Prefer"})  # nothing that a person trying a call needs
Item = dict[str, Any]


def main() -> None:
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text(json.dumps(render(), ensure_ascii=False, indent=1) + "\n")
    sys.stdout.write(f"{FILE.relative_to(ROOT)}\n")


def render() -> Item:
    """The collection as it must be."""
    api = document("https://go.example")
    folders: dict[str, list[Item]] = {tag["name"]: [] for tag in api["tags"]}
    for method, path, told in calls(api):
        folders[told["tags"][0]].append(request_item(method, path, told))
    return {
        "info": {
            "name": api["info"]["title"],
            "version": api["info"]["version"],
            "description": api["info"]["description"],
            "schema": SCHEMA,
        },
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": f"{{{{{KEY}}}}}", "type": "string"}]},
        "variable": [{"key": ADDRESS, "value": "https://go.example"}, {"key": KEY, "value": ""}],
        "item": [{"name": name, "item": items} for name, items in folders.items()],
    }


def calls(api: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    for path, methods in api["paths"].items():
        for method, told in methods.items():
            yield method.upper(), path, told


EXAMPLES = {one.name: one.example for one in operations()}


def request_item(method: str, path: str, told: Any) -> Item:
    """One request. Path parameters are Postman's `:id`, with 1 as the value to begin with."""
    example = EXAMPLES[told["operationId"]]
    parts = ["api", *path.strip("/").split("/")]
    parts = [f":{part[1:-1]}" if part.startswith("{") else part for part in parts]
    query = [parameter(one, example) for one in told["parameters"] if one["in"] == "query"]
    request: Item = {
        "method": method,
        "description": told["summary"],
        "header": [
            parameter(one, {})
            for one in told["parameters"]
            if one["in"] == "header" and one["name"] not in NOT_OFFERED
        ],
        "url": {
            "raw": f"{{{{{ADDRESS}}}}}/{'/'.join(parts)}",
            "host": [f"{{{{{ADDRESS}}}}}"],
            "path": parts,
            "query": query,
            "variable": [{"key": part[1:], "value": "1"} for part in parts if part.startswith(":")],
        },
    }
    if "requestBody" in told:
        text = json.dumps(dict(example), indent=2)
        request["body"] = {"mode": "raw", "raw": text, "options": {"raw": {"language": "json"}}}
        request["header"].append({"key": "Content-Type", "value": "application/json"})
    if told.get("security") == []:
        request["auth"] = {"type": "noauth"}
    return {"name": told["summary"], "request": request}


def parameter(told: Any, example: Mapping[str, str]) -> Item:
    """A query parameter or header, switched off where the example does not have it."""
    name = told["name"]
    return {
        "key": name,
        "value": str(example.get(name, told["schema"].get("default", ""))),
        "disabled": name not in example,
        **({"description": told["schema"]["description"]} if "description" in told["schema"] else {}),
    }


if __name__ == "__main__":
    main()
