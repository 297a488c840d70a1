"""OpenAPI document: it matches the API's real behaviour, and every `curl` example works."""

from __future__ import annotations

import html
import json
import os
import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import requests
from flask import Flask
from jsonschema import Draft202012Validator, FormatChecker
from openapi_spec_validator import validate
from sqlalchemy import select

from app.accounts import member_invitations, workspaces
from app.accounts.models import User, Workspace
from app.accounts.workspaces import access_of
from app.core.extensions import db
from app.links import services as link_services
from app.notifications.transport import all_transports
from app.openapi.document import body
from app.openapi.operations import operations
from app.openapi.resources import RESOURCES
from app.trash.models import Trashed
from tests.api.shape import problem
from tests.clients import Api
from tests.factories import PASSWORD
from tests.server import Server

FORMATS = FormatChecker()


@FORMATS.checks("uri")
def is_uri(value: object) -> bool:
    """Whether a value has only the characters of RFC 3986, section 2."""
    return not isinstance(value, str) or bool(
        re.fullmatch(r"[a-z]+:[A-Za-z0-9._~:/?#\[\]@!$&'()*+,;=%-]+", value)
    )


@pytest.fixture
def document(api: Api) -> dict[str, Any]:
    answer = Api(api.client, None).get("/openapi.json")
    assert (answer.status_code, answer.headers["Content-Type"]) == (200, "application/json")
    assert answer.headers["Cache-Control"] == "no-store"
    assert "RateLimit" in answer.headers
    found: dict[str, Any] = answer.json
    return found


def test_it_is_an_openapi_document(document: dict[str, Any]) -> None:
    validate(document)
    assert document["openapi"] == "3.1.0"
    assert document["servers"] == [{"url": "http://localhost/api"}]


@pytest.mark.settings(BASE_URL="https://go.example", DASHBOARD_URL="https://desk.example")
def test_it_names_the_owners_site(api: Api) -> None:
    answer = api.get("/openapi.json/", base_url="https://desk.example")
    assert answer.json["servers"] == [{"url": "https://desk.example/api"}]
    assert api.get("/openapi.json", base_url="https://go.example").status_code == 404


def test_every_call_is_in_it_and_no_other(app: Flask, document: dict[str, Any]) -> None:
    there = {
        (re.sub("<[^>]+>", "{id}", rule.rule.removeprefix("/api")), method.lower())
        for rule in app.url_map.iter_rules()
        if rule.endpoint.startswith("api.")
        for method in (rule.methods or set()) - {"HEAD", "OPTIONS"}
    }
    told = {(path, method) for path, calls in document["paths"].items() for method in calls}
    assert told == there


# --- what is sent


def wrong_values(schema: dict[str, Any]) -> Iterator[Any]:
    """Values just outside the bounds of a schema."""
    if "enum" in schema:
        yield "nonsense"
    elif schema["type"] == "integer":
        yield schema["minimum"] - 1
        yield schema.get("maximum", 2**63 - 1) + 1
    elif schema["type"] == "boolean":
        yield "maybe"
    elif schema["type"] == "string" and "maxLength" in schema:
        start = "https://e.example/" if schema.get("format") == "uri" else ""
        yield start + "x" * (schema["maxLength"] + 1 - len(start))
    elif schema["type"] == "array" and "maxItems" in schema:
        yield ["https://e.example/" + str(n) for n in range(schema["maxItems"] + 1)]


@pytest.mark.parametrize("path", RESOURCES)
def test_every_field_is_in_it_with_its_bounds(
    path: str, api: Api, document: dict[str, Any], alice: User
) -> None:
    resource, call = RESOURCES[path], document["paths"][path]["post"]
    name = call["requestBody"]["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    schema = document["components"]["schemas"][name]
    form = resource.form(None, owner=access_of(alice))
    hidden = {n for n in form.data if n.startswith("targeting_") and n != "targeting_type"} | form.update_only
    assert set(form.data) - hidden <= set(schema["properties"])
    example = dict(resource.example)
    Draft202012Validator(schema).validate(example)
    usual = body(next(one for one in operations() if one.form is resource.form and one.is_create))
    assert set(usual["properties"]) == set(schema["properties"])
    for field, one in usual["properties"].items():
        for value in wrong_values(one):
            sent = {**example, field: value}
            if field.startswith("targeting_") and field != "targeting_type":
                sent["targeting_type"] = re.sub("^targeting_|_(key|value)$", "", field)
            if field == "location_urls":
                sent["is_bulk"] = True
            if path == "/notification-handlers" and field in ALL_HANDLERS:
                sent["type"] = ALL_HANDLERS[field]
            errors = problem(api.post(path, json=sent), 422)
            assert re.sub("_(key|value)$", "", field) in {
                re.sub(r"(_key|_value)?(\[\d+\])?$", "", error["field"]) for error in errors
            }, (field, value)
    for field in schema.get("required", []):
        sent = {key: value for key, value in example.items() if key != field}
        assert field in {error.get("field") for error in problem(api.post(path, json=sent), 422)}
    assert api.post(path, json=example).status_code == 201


ALL_HANDLERS = {
    one.name: type_ for type_, transport in all_transports().items() for one in transport.settings
}


def test_every_parameter_of_a_list_is_in_it(document: dict[str, Any]) -> None:
    for path, resource in RESOURCES.items():
        told = {one["name"] for one in document["paths"][path]["get"]["parameters"]}
        assert told == {"page", "results_per_page", "order_by", "order_type", *resource.listing.filters}


# --- what comes back


def resolved(document: dict[str, Any], schema: Any) -> Any:
    """A schema with its references replaced by what they refer to."""
    if isinstance(schema, list):
        return [resolved(document, one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    if "$ref" in schema:
        *_, part, name = schema["$ref"].split("/")
        return resolved(document, document["components"][part][name])
    return {key: resolved(document, value) for key, value in schema.items()}


def require_exactly(schema: dict[str, Any], value: Any, where: str) -> None:
    """Checks that objects whose keys are all required have exactly the schema's keys, in their order."""
    if isinstance(value, dict) and "properties" in schema:
        known = list(schema["properties"])
        if set(schema.get("required", ())) == set(known):
            assert list(value) == known, where
        for key in set(value) & set(known):
            require_exactly(schema["properties"][key], value[key], f"{where}.{key}")
    if isinstance(value, list) and "items" in schema:
        for one in value:
            require_exactly(schema["items"], one, f"{where}[]")


@pytest.fixture
def full(alice: User, factory: Any) -> dict[str, int]:
    """One row of each kind, with most fields set."""
    pixel, handler = factory.pixel(alice), factory.handler(alice)
    domain, project = factory.domain(alice), factory.project(alice)
    link = factory.link(
        alice, location_url="https://example.com/menü?{a}=|", url="café", tags=("a",), domain_id=domain.id, project_id=project.id, targeting_type="device_type",
        targeting=[["mobile", "https://example.com/m"]], password_hash="$x", title="t",
    )  # fmt: skip
    link.pixels, link.handlers = [pixel], [handler]
    link_services.delete(factory.link(alice, url="gone"))
    trashed = db.session.scalars(select(Trashed.id)).one()
    return {
        "links": link.id,
        "pixels": pixel.id,
        "notification-handlers": handler.id,
        "projects": project.id,
        "domains": domain.id,
        "statistics": link.id,
        "trash": trashed,
    }


def test_every_answer_is_as_it_says(
    make_api: Callable[..., Api], document: dict[str, Any], full: dict[str, int], alice: User, bob: User
) -> None:
    api = make_api(alice, changes_members=True)
    workspace = db.session.get_one(Workspace, access_of(alice).workspace_id)
    member = workspaces.add_member(workspace, bob, "editor")
    invitation, _ = member_invitations.invite(access_of(alice), "z@example.com", "viewer")
    db.session.commit()
    hook = {"target_url": "https://hooks.example/", "events": ["link.clicked"]}
    subscription = api.post("/subscriptions", json=hook).json["data"]["id"]
    full = {**full, "workspace/members": member.id, "workspace/invitations": invitation.id}
    full["subscriptions"] = subscription
    assert api.post(f"/notification-handlers/{full['notification-handlers']}/test").status_code == 200
    calls = operations()
    last_is_delete = sorted(calls, key=lambda one: one.method == "DELETE")
    for one in last_is_delete:
        told = document["paths"][one.path][one.method.lower()]["responses"]
        if one.name == "notification-handlers_secret":
            continue  # only webhooks have this
        first = one.path.split("/")[1]
        id_ = full.get(one.path.strip("/").partition("/{")[0], full.get(first))
        path = one.path.replace("{id}", str(id_))
        sent = {"json": dict(one.example)} if one.form else {}
        query = {} if one.form else dict(one.example)
        answer = api.open(one.method, path, query_string=query, **sent)
        assert str(answer.status_code) in told, (one.name, answer.text)
        if one.gives is None or "/" in one.gives:
            continue
        schema = resolved(document, told[str(answer.status_code)]["content"]["application/json"]["schema"])
        Draft202012Validator(schema, format_checker=FORMATS).validate(answer.json)
        if one.gives != "Row":
            require_exactly(schema, answer.json, one.name)
        if "csv" in one.query.get("format", {}).get("enum", ()):
            table = api.get(path, query_string={**query, "format": "csv"})
            assert table.mimetype in told["200"]["content"]
    missing = resolved(document, document["components"]["responses"]["404"])
    answer = api.get("/links/999")
    Draft202012Validator(missing["content"]["application/problem+json"]["schema"]).validate(answer.json)


# --- the command, and the page


def test_the_command_prints_the_same(app: Flask, document: dict[str, Any]) -> None:
    done = app.test_cli_runner().invoke(args=["openapi"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.output) == {**document, "servers": [{"url": "http://127.0.0.1:8000/api"}]}


@pytest.mark.full
def test_every_line_of_the_page_works(make_server: Callable[..., Server], tmp_path: Path) -> None:
    """Each line is run by a shell in which only the key is set."""
    server = make_server()
    server.flask("users", "create", "--email", "you@example.com", "--password-stdin", stdin=PASSWORD)
    key = server.flask(
        "keys", "create", "--email", "you@example.com", "--name", "laptop", "--members"
    ).strip()
    headers = {"Authorization": f"Bearer {key}"}
    for path, kind in RESOURCES.items():
        sent = {
            **kind.example,
            **({"type": "webhook", "webhook": "https://hook.example/"} if "handlers" in path else {}),
        }
        sent |= {"host": "go.example"} if path == "/domains" else {}
        assert (
            requests.post(f"{server.url}/api{path}", data=sent, headers=headers, timeout=30).status_code
            == 201
        )
    sent = {"location_url": "https://example.com/"}
    made = requests.post(f"{server.url}/api/links", data=sent, headers=headers, timeout=30)
    requests.delete(made.headers["Location"], headers=headers, timeout=30)  # the first thing in the trash
    shown = lines_of(server)
    assert f"export WAY_URL={server.url} WAY_KEY=wp_…" in shown
    lines = [line for line in shown if line.startswith("curl ")]
    assert len(lines) == len(operations())
    (tmp_path / ".curlrc").write_text('silent\nnoproxy = "*"\nwrite-out = "\\n%{http_code}"\n')
    environ = {**os.environ, "WAY_KEY": key, "CURL_HOME": str(tmp_path), "HOME": str(tmp_path)}
    found = {}
    for line in sorted(lines, key=lambda line: "-X DELETE" in line):
        done = subprocess.run(
            ["sh", "-c", line], env=environ, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        found[line] = (done.returncode, done.stdout.rpartition("\n")[2])
    wrong = {line: what for line, what in found.items() if what[0] or what[1] not in {"200", "201", "204"}}
    # the one member of the workspace is its last owner, who can neither be demoted nor leave, and the handler
    # with the id 1 is no subscription
    refused = {"/api/workspace/members/1": (0, "409"), "/api/subscriptions/1": (0, "404")}
    known = {line: refused[path] for line in wrong for path in refused if path in line}
    assert wrong == known
    assert set(wrong.values()) == set(refused.values())
    assert (tmp_path / "qr.png").read_bytes().startswith(b"\x89PNG")


def lines_of(server: Server) -> list[str]:
    """The `curl` commands on the page, as a signed-in user sees them."""
    person = requests.Session()
    person.trust_env = False
    token = re.search('name="csrf_token" value="([^"]+)"', person.get(f"{server.url}/login", timeout=30).text)
    assert token
    sent = {"csrf_token": token[1], "email": "you@example.com", "password": PASSWORD}
    assert person.post(f"{server.url}/login", data=sent, timeout=30).status_code == 200
    page = person.get(f"{server.url}/dashboard/api/", timeout=30)
    assert page.status_code == 200
    return [html.unescape(line) for line in re.findall('<pre class="curl">(.*?)</pre>', page.text, re.DOTALL)]


ALIASES = {"": True, "a": True, "a/b": True, "é/🚀/1": True, "a.b/c": True} | dict.fromkeys(
    ("/a", "a/", "a//b", ".a", "a/.b", "a/../b", "a b", "a/b c", "a\nb"), False
)


@pytest.mark.parametrize("alias", ALIASES, ids=repr)
def test_the_pattern_of_an_alias_says_as_much_as_it_can(document: dict[str, Any], alias: str) -> None:
    """The pattern refuses no alias that the server accepts, and it covers the rules of slashes."""
    schemas = document["components"]["schemas"]
    for form in (schemas["LinkCreate"]["anyOf"][0], schemas["LinkUpdate"], schemas["LinkUpdateForm"]):
        field = form["properties"]["url"]
        [schema] = [one for one in field.get("anyOf", [field]) if "pattern" in one]
        assert bool(re.search(schema["pattern"], alias)) is ALIASES[alias]
