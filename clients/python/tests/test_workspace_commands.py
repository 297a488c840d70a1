"""`way workspace`, and which command stands for each operation of the API."""

from __future__ import annotations

import json
from typing import Any

import click
import pytest
from waypost_client.cli.command import way

from tests.instance import EMAIL, Waypost
from tests.test_command import Run, read_json, run
from tests.test_openapi import documented

__all__ = ["run"]

# the command of each operation; a new operation needs one, or a reason why it has none
COMMANDS = {
    **{f"{name}_find": f"{name} list" for name in ("pixels", "projects", "domains")},
    **{f"{name}_post": f"{name} create" for name in ("pixels", "projects", "domains")},
    **{f"{name}_read": f"{name} show" for name in ("pixels", "projects", "domains")},
    **{f"{name}_update": f"{name} update" for name in ("pixels", "projects", "domains")},
    **{f"{name}_delete": f"{name} delete" for name in ("pixels", "projects", "domains")},
    "links_find": "list",
    "links_post": "create",
    "links_read": "show",
    "links_update": "update",
    "links_delete": "delete",
    "links_explain": "explain",
    "links_qr": "qr",
    "notification-handlers_find": "handlers list",
    "notification-handlers_post": "handlers create",
    "notification-handlers_read": "handlers show",
    "notification-handlers_update": "handlers update",
    "notification-handlers_delete": "handlers delete",
    "notification-handlers_deliveries": "handlers deliveries",
    "notification-handlers_test": "handlers test",
    "notification-handlers_secret": "handlers renew-secret",
    "notification-handlers_confirmation": "handlers ask-confirmation",
    "domains_verify": "domains verify",
    "statistics": "stats",
    "statistics_link": "stats",
    "subscriptions_find": "subscriptions list",
    "subscriptions_post": "subscriptions create",
    "subscriptions_read": "subscriptions show",
    "subscriptions_delete": "subscriptions delete",
    "subscriptions_samples": "subscriptions samples",
    "events": "events follow",
    "trash_find": "trash list",
    "trash_restore": "trash restore",
    "workspace_read": "workspace show",
    "workspace_update": "workspace rename",
    "workspace-members_find": "workspace members",
    "workspace-members_post": "workspace invite",
    "workspace-members_read": "workspace member",
    "workspace-members_update": "workspace role",
    "workspace-members_delete": "workspace remove",
    "workspace-invitations_find": "workspace invitations",
    "workspace-invitations_read": "workspace invitation",
    "workspace-invitations_delete": "workspace revoke",
    "user": "whoami",
    "audit": "audit",
}
WITHOUT = {
    "statistics_clicks": "a file of every click, for programs: the dashboard and the client have it",
    "statistics_link_clicks": "the same, of one link",
    "openapi": "what `way mcp` reads, and of no use to people",
}


def command_at(path: str) -> click.Command | None:
    found: click.Command | None = way
    for name in path.split():
        found = found.commands.get(name) if isinstance(found, click.Group) else None
    return found


def test_every_operation_has_a_command(openapi: Any) -> None:
    assert set(documented(openapi)) == {*COMMANDS, *WITHOUT}
    assert [path for path in COMMANDS.values() if command_at(path) is None] == []


def test_the_workspace_and_invitations_into_it(run: Run, waypost: Waypost) -> None:
    before = read_json(run("workspace", "show", "--json"))
    assert before["role"] == "owner"
    assert read_json(run("workspace", "rename", "Our shop", "--json"))["name"] == "Our shop"
    assert "Our shop" in run("workspace", "show").stdout
    members = read_json(run("workspace", "members", "--json"))
    assert [one["email"] for one in members] == [EMAIL]
    assert EMAIL in run("workspace", "member", members[0]["id"]).stdout
    address = run("workspace", "invite", "new@example.com", "--role", "editor").stdout.strip()
    assert address.startswith(f"{waypost.url}/dashboard/join?token=")
    (invitation,) = read_json(run("workspace", "invitations", "--json"))
    assert (invitation["email"], invitation["role"]) == ("new@example.com", "editor")
    assert "new@example.com" in run("workspace", "invitation", invitation["id"]).stdout
    run("workspace", "revoke", invitation["id"], stdin="n\n", code=1)
    assert read_json(run("workspace", "revoke", invitation["id"], "--yes", "--json")) == [invitation["id"]]
    assert read_json(run("workspace", "invitations", "--json")) == []
    made = read_json(run("workspace", "invite", "other@example.com", "--json"))
    assert made["url"].startswith(f"{waypost.url}/dashboard/join?token=")


REFUSED = {
    "no such role": ("invite", "x@example.com", "--role", "king"),
    "no address": ("invite", "nobody"),
    "no such member": ("role", "987654", "viewer"),
    "no such invitation": ("revoke", "987654", "--yes"),
}


@pytest.mark.parametrize("arguments", REFUSED.values(), ids=REFUSED)
def test_what_the_server_refuses_ends_with_1(arguments: tuple[str, ...], run: Run) -> None:
    assert run("workspace", *arguments, code=1).stderr.startswith("Error: ")


def test_the_last_owner_stays(run: Run) -> None:
    (owner,) = read_json(run("workspace", "members", "--json"))
    assert "owner" in run("workspace", "role", owner["id"], "viewer", code=1).stderr
    assert "owner" in run("workspace", "remove", owner["id"], "--yes", code=1).stderr
    assert json.loads(run("workspace", "member", owner["id"], "--json").stdout)["role"] == "owner"
