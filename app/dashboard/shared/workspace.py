"""The workspace that a page of the dashboard is about, and what the reader may do in it.

Pages of a workspace have its id in their address (`/dashboard/w/7/links/`), so that two tabs can show two.
An address without one is that of the reader's own workspace; whoever has several is redirected from there.
"""

# see docs/decisions/2026-11-25-workspaces.md
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Flask, current_app, g, redirect, request
from flask.typing import ResponseReturnValue
from flask_login import current_user
from werkzeug.routing import Rule

from app.accounts import access as rights
from app.accounts import workspaces
from app.accounts.access import Access
from app.accounts.models import WorkspaceMember
from app.core.actor import act_as, acting
from app.core.errors import NotFound
from app.dashboard.shared.blueprint import blueprint

NAME = "workspace_in_address"
SAFE = {"GET", "HEAD", "OPTIONS"}
# pages of the account and of the instance; all others are of a workspace
OUTSIDE = (
    *(
        "account",
        "sessions_",
        "two_factor",
        "passkeys_",
        "instance",
        "users",
        "invitations_",
        "password_again",
        "signed_in",
    ),
    *("theme", "density", "join", "workspaces_"),
)
# the right that a write needs, by the beginning of its name, the last that fits; "write" where none does
ACTIONS = (
    ("domains", "write_domains"),
    ("workspace", "write_workspace"),
    # everybody's own: views of lists, keys with the rights of their user, a picture that is stored nowhere
    ("saved_views", "read"),
    ("keys", "read"),
    ("links_qr", "read"),
    ("workspace_leave", "read"),
)
# the right that a page needs which is not that of the write at its address, nor "read"
READS = {
    "imports": "read",  # the list of imports; the file is sent to the same address
    "imports_failed": "read_secrets",  # rows as they came: with passwords, and what handlers are set to
    "workspace_audit_log": "read_audit_log",
    "workspace_audit_log_file": "read_audit_log",
    "shares_show": "read_secrets",  # an address that opens to whoever has it, members or not
}


def init_app(app: Flask) -> None:
    """Gives each page of a workspace a second address, with its id. Call it once the pages are registered."""
    for use in (may, may_use, own_workspaces, current_access):
        app.add_template_global(use)
    for rule in list(app.url_map.iter_rules()):
        if is_inside(rule.endpoint):
            path = rule.rule.removeprefix(blueprint.url_prefix or "")
            app.url_map.add(
                Rule(
                    f"{blueprint.url_prefix}/w/<int:{NAME}>{path}",
                    endpoint=rule.endpoint,
                    methods=rule.methods,
                    defaults=rule.defaults,
                )
            )


def is_inside(endpoint: str | None) -> bool:
    """Whether this is a page of a workspace."""
    name = (endpoint or "").partition(f"{blueprint.name}.")[2]
    return bool(name) and not name.startswith(OUTSIDE)


@blueprint.url_value_preprocessor
def take_from_address(endpoint: str | None, values: dict[str, Any] | None) -> None:  # noqa: ARG001
    g.workspace_in_address = values.pop(NAME, None) if values else None


@blueprint.url_defaults
def put_into_address(endpoint: str, values: dict[str, Any]) -> None:
    """Addresses on a page of a workspace lead to pages of the same."""
    if is_inside(endpoint) and (found := g.get("workspace_in_address")) is not None:
        values.setdefault(NAME, found)


def enter() -> ResponseReturnValue | None:
    """Checks the reader's role. Redirects to the address with the workspace where there are several."""
    if not is_inside(request.endpoint):
        return None
    access = current_access()
    if g.workspace_in_address is None and len(own_workspaces()) > 1 and request.method in SAFE:
        g.workspace_in_address = access.workspace_id
        path = request.full_path.rstrip("?").removeprefix(blueprint.url_prefix or "")
        return redirect(f"{blueprint.url_prefix}/w/{access.workspace_id}{path}")
    act_as(acting()._replace(workspace_id=access.workspace_id))
    rights.require(access, action_of(request.endpoint or "", request.method))
    return None


def action_of(endpoint: str, method: str) -> str:
    """The right that a request needs: a page that asks before a write needs the same as the write."""
    name = endpoint.partition(".")[2]
    if method in SAFE and (name in READS or f"{endpoint}_write" not in current_app.view_functions):
        return READS.get(name, "read")
    return next((action for start, action in reversed(ACTIONS) if name.startswith(start)), "write")


def own_workspaces() -> Sequence[WorkspaceMember]:
    """The reader's workspaces with the role in each, the one of their own first. Read once a request."""
    if "memberships" not in g:
        g.memberships = workspaces.memberships(current_user._get_current_object())  # noqa: SLF001  not the proxy
    found: Sequence[WorkspaceMember] = g.memberships
    return found


def current_access() -> Access:
    """The reader's access to the workspace of the page. Raises NotFound for one of others."""
    if "access" not in g:
        wanted = g.get("workspace_in_address")
        found = [one for one in own_workspaces() if wanted in {None, one.workspace_id}]
        if not found:
            raise NotFound("workspace")
        g.access = Access(found[0].user, found[0].workspace_id, found[0].role)
    access: Access = g.access
    return access


def workspace_id() -> int:
    return current_access().workspace_id


def may(action: str) -> bool:
    """Whether the reader may do this here: `app.accounts.access` says what there is."""
    return rights.may(current_access(), action)


def may_use(name: str) -> bool:
    """Whether the reader may use this page of the workspace: send its form, where it has one, or see it.

    Pages show by this what leads there, so that nothing is offered that would be refused.
    """
    write = f"{blueprint.name}.{name}_write"
    endpoint: str = write if write in current_app.view_functions else f"{blueprint.name}.{name}"
    methods = {method for rule in current_app.url_map.iter_rules(endpoint) for method in rule.methods or ()}
    return may(action_of(endpoint, "GET" if "GET" in methods else "POST"))
