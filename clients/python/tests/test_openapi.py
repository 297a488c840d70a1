"""The client against the OpenAPI document of a started server: every operation and field has its counterpart."""

from __future__ import annotations

import inspect
import types
from collections.abc import Iterator
from dataclasses import fields
from typing import Any, Unpack, get_args, get_origin, get_type_hints

import pytest
from waypost_client import operations
from waypost_client.objects import (
    ABOUT,
    ApiObject,
    Event,
    FeedMeta,
    FeedPage,
    File,
    Link,
    Meta,
    Neighbours,
    Page,
)
from waypost_client.operation import Operation, Resource

METHODS = ("get", "post", "put", "patch", "delete")
# sent by the client itself, or none of its arguments
OWN = {"prefer", "idempotency_key"}


def all_operations() -> Iterator[Operation[Any, Any]]:
    for kind in vars(operations).values():
        if inspect.isclass(kind) and issubclass(kind, Resource) and kind is not Resource:
            yield from (one for one in vars(kind).values() if isinstance(one, Operation))


BY_NAME: dict[str, list[Operation[Any, Any]]] = {}
for found in all_operations():
    BY_NAME.setdefault(found.endpoint.name, []).append(found)


def documented(openapi: Any) -> dict[str, tuple[str, str, Any]]:
    return {
        told["operationId"]: (method.upper(), path, told)
        for path, methods in openapi["paths"].items()
        for method, told in methods.items()
        if method in METHODS
    }


def arguments(one: Operation[Any, Any]) -> set[str]:
    """The names that a method accepts, those of its keyword fields, and what it sends by itself."""
    hints = get_type_hints(one.build)
    found = set(one.endpoint.sends)
    for name, parameter in inspect.signature(one.build).parameters.items():
        if parameter.kind is inspect.Parameter.VAR_KEYWORD:
            assert get_origin(hints[name]) is Unpack
            found |= set(get_type_hints(get_args(hints[name])[0]))
        elif name != "self":
            found.add(name)
    return found - OWN


def accepted(told: Any, openapi: Any) -> set[str]:
    found = {one["name"].removesuffix("[]").lower().replace("-", "_") for one in told["parameters"]}
    if "requestBody" in told:
        schema = told["requestBody"]["content"]["application/json"]["schema"]
        found |= set(resolve(schema, openapi)["properties"])
    return found - OWN


def resolve(schema: Any, openapi: Any) -> Any:
    if "$ref" not in schema:
        return schema
    found: Any = openapi
    for part in schema["$ref"].removeprefix("#/").split("/"):
        found = found[part]
    return found


def test_every_operation_has_a_method_at_the_same_place(openapi: Any) -> None:
    places = {name: (method, path) for name, (method, path, _) in documented(openapi).items()}
    ours = {name: (one.endpoint.method, one.endpoint.path) for name, all_ in BY_NAME.items() for one in all_}
    assert ours == places


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_field_and_filter_is_an_argument(name: str, openapi: Any) -> None:
    ours = set().union(*map(arguments, BY_NAME[name]))
    assert ours == accepted(documented(openapi)[name][2], openapi)


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_every_field_of_an_answer_is_one_of_its_object(name: str, openapi: Any) -> None:
    told = documented(openapi)[name][2]
    content = next(
        answer["content"] for status, answer in told["responses"].items() if status.startswith("2")
    ) if not any(status == "204" for status in told["responses"]) else {}  # fmt: skip
    schema = content.get("application/json", {}).get("schema", {})
    for one in BY_NAME[name]:
        kind = get_args(get_type_hints(one.build)["return"])[0]
        compare_answer(kind, schema, openapi)


def compare_answer(kind: Any, schema: Any, openapi: Any) -> None:
    if kind in {types.NoneType, File, Any}:
        return
    properties = schema["properties"]
    if kind is FeedPage:
        compare(list[Event], properties["data"], openapi)
        compare(FeedMeta, properties["meta"], openapi)
    elif get_origin(kind) is Page:
        compare(list[get_args(kind)[0]], properties["data"], openapi)  # type: ignore[misc]
        compare(Meta, properties["meta"], openapi)
        compare(Neighbours, properties["links"], openapi)
    elif kind.__name__ == "Created" if inspect.isclass(kind) else False:
        assert {"id"} <= {one.name for one in fields(kind)}
    else:
        wanted = resolve(properties["data"], openapi)
        # a create and a change return the whole object, as they are asked to
        is_whole = inspect.isclass(kind) and set(wanted.get("properties", ())) == {"id"}
        compare(kind, openapi["components"]["schemas"][kind.__name__] if is_whole else wanted, openapi)


def compare(kind: Any, schema: Any, openapi: Any) -> None:
    """Fails where the object has other fields than the schema, at any depth."""
    schema = resolve(schema, openapi)
    if get_origin(kind) is types.UnionType:
        kind = next(one for one in get_args(kind) if one is not types.NoneType)
    if get_origin(kind) is list:
        compare(get_args(kind)[0], schema.get("items", {}), openapi)
    elif inspect.isclass(kind) and issubclass(kind, ApiObject):
        hints = {name: hint for name, hint in get_type_hints(kind).items() if name not in ABOUT}
        assert set(hints) == set(schema["properties"]), kind.__name__
        for name, hint in hints.items():
            compare(hint, schema["properties"][name], openapi)


def test_a_new_operation_and_a_new_field_would_be_noticed(openapi: Any) -> None:
    link = openapi["components"]["schemas"]["Link"]
    more = {**link, "properties": {**link["properties"], "new": {"type": "string"}}}
    with pytest.raises(AssertionError, match="Link"):
        compare(Link, more, openapi)
    settings = link["properties"]["settings"]
    deeper = {**settings, "properties": {**settings["properties"], "new": {}}}
    with pytest.raises(AssertionError, match="LinkSettings"):
        compare(Link, {**link, "properties": {**link["properties"], "settings": deeper}}, openapi)
