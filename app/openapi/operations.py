"""All operations of the API, with what each accepts and returns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from app.accounts.forms import MemberForm, MemberInvitationForm, WorkspaceForm
from app.accounts.models import User
from app.accounts.workspaces import INVITATIONS, members_of
from app.analytics.dimensions import DIMENSIONS, TYPES
from app.analytics.params import MAX_VALUE
from app.audit.lists import AuditReader
from app.audit.lists import log_of as audit_log_of
from app.audit.models import ACTIONS, GROUPS
from app.events.feed.params import DEFAULT_LIMIT
from app.events.feed.reading import MAX_LIMIT
from app.events.subscriptions.forms import SUBSCRIBED, SubscriptionForm
from app.events.subscriptions.lists import subscriptions_of
from app.events.types import TYPES as EVENT_TYPES
from app.input.forms import ResourceForm
from app.input.listing import DEFAULT_SIZE, ORDER_TYPES, SIZES, Listing
from app.links.forms import RestoreForm
from app.links.qr import QrForm
from app.notifications.composing import all_types
from app.notifications.log import log_of
from app.notifications.models import NotificationHandler
from app.openapi.accepted import MOMENT
from app.openapi.fields import ONE_LINE, Schema, described, schema_of
from app.openapi.resources import RESOURCES, ResourceDescription
from app.redirects.simulation.params import LONGEST_QUERY, READ
from app.trash.services import KINDS as TRASH_KINDS
from app.trash.services import LISTING as TRASH_LIST

TEXT: Schema = {"type": "string"}
DAY: Schema = {"type": "string", "format": "date"}
TIME: Schema = {"type": "string", "examples": ["2026-01-31 18:30:00"], "pattern": MOMENT}
FLAG: Schema = {"type": "boolean"}
FILTERS: Mapping[str, Schema] = {
    "is_enabled": FLAG,
    "is_verified": FLAG,
    "project_id": {"type": "integer", "minimum": 0},
    "domain_id": {"type": "integer", "minimum": 0},
    "pixel_id": {"type": "integer", "minimum": 0},
    "datetime_start": TIME,
    "datetime_end": TIME,
    "search_by": {"type": "string", "enum": ["url", "location_url", "title"]},
    "status": {"type": "string", "enum": ["pending", "delivered", "failed"]},
    "group": {"type": "string", "enum": list(GROUPS)},
    "action": {"type": "string", "enum": list(ACTIONS)},
}
HANDLER = "/notification-handlers/{id}"


@dataclass(frozen=True, kw_only=True)
class Operation:
    """One call. `path`: what follows `/api`. `gives`: a schema's name, or a media type for other content.

    `example`: what its `curl` command sends. `form`: the class whose fields a body has. `has_tag`: its answer
    has an `ETag`. `is_conditional`: it is of a row, and heeds `If-Match` and `If-None-Match`. `has_cursor`:
    it is a list that is read by cursors, and not by pages.
    """

    name: str
    method: str
    path: str
    tag: str
    summary: str
    gives: str | None
    status: int = 200
    is_list: bool = False
    query: Mapping[str, Schema] = field(default_factory=dict)
    form: type[ResourceForm] | None = None
    is_create: bool = False
    example: Mapping[str, str] = field(default_factory=dict)
    needs_key: bool = True
    has_tag: bool = False
    is_conditional: bool = False
    has_cursor: bool = False
    description: str = ""

    @property
    def is_write(self) -> bool:
        return self.method != "GET"


def of_resource(path: str, kind: ResourceDescription) -> Iterator[Operation]:
    """The five operations of a resource."""
    one, name = f"{path}/{{id}}", path.strip("/")
    tagged, conditional = {"has_tag": True}, {"is_conditional": True}
    create = {"form": kind.form, "is_create": True, "example": kind.example, **tagged}
    update = {"form": kind.form, "example": kind.change, **tagged, **conditional}
    asked = of_list(kind.listing, kind.form)
    verbs: list[tuple[str, str, str, str, str | None, dict[str, Any]]] = [
        (
            "find",
            "GET",
            path,
            f"List {name.replace('-', ' ')}",
            kind.schema,
            {"is_list": True, "query": asked},
        ),
        ("post", "POST", path, f"Create a {kind.one}", "Made", {"status": 201, **create}),
        ("read", "GET", one, f"Read a {kind.one}", kind.schema, {**tagged, **conditional}),
        ("update", "POST", one, f"Change a {kind.one}", "Made", update),
        ("delete", "DELETE", one, f"Delete a {kind.one}", None, {"status": 204, **conditional}),
    ]
    for verb, method, where, summary, gives, more in verbs:
        yield call(f"{name}_{verb}", method, where, kind.tag, summary, gives, **more)


def call(
    name: str, method: str, path: str, tag: str, summary: str, gives: str | None, **more: Any
) -> Operation:
    return Operation(name=name, method=method, path=path, tag=tag, summary=summary, gives=gives, **more)


def of_list(listing: Listing[Any], form: type[ResourceForm] | None = None) -> dict[str, Schema]:
    fields: Any = form(None, owner=User()) if form else {}
    filters = {
        name: schema_of(fields[name]) if form and name in {"type", "role"} else FILTERS.get(name, TEXT)
        for name in listing.filters
    }
    return {
        "page": {"type": "integer", "minimum": 1, "maximum": 2**63 - 1, "default": 1},
        "results_per_page": {"type": "integer", "enum": list(SIZES), "default": DEFAULT_SIZE},
        **filters,
        "order_by": {"type": "string", "enum": list(listing.orders)},
        "order_type": {"type": "string", "enum": list(ORDER_TYPES), "default": "ASC"},
    }


REMOVAL = (
    "What the member made stays in the workspace, but it is switched off where it sends or shows "
    "data outside: handlers are disabled, subscriptions end, and share addresses are revoked."
)
VALUE: Schema = {"type": "string", "maxLength": MAX_VALUE, "pattern": ONE_LINE}
REPORT: dict[str, Schema] = {
    "start_date": DAY,
    "end_date": DAY,
    "timezone": {"type": "string", "default": "UTC"},
    "bots": FLAG,
    **{name: {**VALUE, "description": "Only visits of this value."} for name in DIMENSIONS},
}
OF_ONE_TYPE: dict[str, Schema] = {
    "type": {"type": "string", "enum": list(TYPES), "default": "overview"},
    "format": {"type": "string", "enum": ["json", "csv"], "default": "json"},
}
PROFILE_PARAMS = {name: {"type": "string", "maxLength": LONGEST_QUERY} for name in (*READ, "at", "unlocked")}
LOOK = {one.name: described(one) for one in QrForm(None, owner=None) if one.name != "logo"}
CSV = "text/csv"

OF_A_TYPE = {**REPORT, **OF_ONE_TYPE}
WORKSPACE, MEMBERS, INVITED = "Workspace", "/workspace/members", "/workspace/invitations"
RENAME: dict[str, Any] = {"form": WorkspaceForm, "example": {"name": "Marketing"}}
BY_MEMBERS_KEY: dict[str, Any] = {
    "description": "Takes a key with the permission `members`; every owner of the workspace gets a mail."
}
ROLE: dict[str, Any] = {"form": MemberForm, "example": {"role": "viewer"}, **BY_MEMBERS_KEY}
OF_MEMBERS: dict[str, Any] = {"is_list": True, "query": of_list(members_of(0), MemberForm)}
MEMBER, INVITATION = f"{MEMBERS}/{{id}}", f"{INVITED}/{{id}}"
HOOKS, HOOK, SUBSCRIPTIONS = "/subscriptions", "/subscriptions/{id}", "Subscriptions"
LINKS, STATISTICS, HANDLERS, DOMAINS, TRASH, EVENTS, ACCOUNT = (
    "Links", "Statistics", "Notification handlers", "Domains", "Trash", "Events", "Account",
)  # fmt: skip
OF_FEED: dict[str, Schema] = {
    "after": {**TEXT, "description": "A cursor: `next` of the page before. Without one, the oldest events."},
    "type[]": {"type": "array", "items": {"type": "string", "enum": [*EVENT_TYPES, ""]}},
    "link_id": {"type": "integer", "minimum": 1},
    "limit": {"type": "integer", "minimum": 1, "maximum": MAX_LIMIT, "default": DEFAULT_LIMIT},
}
OTHERS: tuple[Operation, ...] = (
    call(
        "links_explain", "GET", "/links/{id}/explain", LINKS, "Explain what a visitor gets", "Explanation",
        query=PROFILE_PARAMS, example={"device_type": "mobile"},
    ),
    call(
        "links_qr", "GET", "/links/{id}/qr", LINKS, "Create a QR code", "image/*",
        query=LOOK, example={"format": "png", "size": "512"},
    ),
    call(
        "statistics", "GET", "/statistics", STATISTICS, "Report on all links", "Row",
        query=OF_A_TYPE, example={"type": "country_code"},
    ),
    call(
        "statistics_link", "GET", "/statistics/{id}", STATISTICS, "Report on a link", "Row",
        query=OF_A_TYPE, example={"type": "overview"},
    ),
    call("statistics_clicks", "GET", "/statistics/clicks", STATISTICS, "All visits", CSV, query=REPORT),
    call(
        "statistics_link_clicks", "GET", "/statistics/{id}/clicks", STATISTICS, "Visits to a link", CSV,
        query=REPORT,
    ),
    call(
        "notification-handlers_deliveries", "GET", f"{HANDLER}/deliveries", HANDLERS, "List its deliveries",
        "Delivery", is_list=True,
        query={**of_list(log_of(NotificationHandler())), "type": {"type": "string", "enum": all_types()}},
    ),
    call("notification-handlers_test", "POST", f"{HANDLER}/test", HANDLERS, "Send a test now", "Trial"),
    call(
        "notification-handlers_secret", "POST", f"{HANDLER}/secret", HANDLERS,
        "Renew a webhook's signing secret", "NotificationHandler",
    ),
    call(
        "notification-handlers_confirmation", "POST", f"{HANDLER}/confirmation", HANDLERS,
        "Ask again for confirmation of its e-mail address", "NotificationHandler",
    ),
    call(
        "subscriptions_find", "GET", HOOKS, SUBSCRIPTIONS, "List subscriptions", "Subscription", is_list=True,
        query=of_list(subscriptions_of(0)),
    ),
    call(
        "subscriptions_post", "POST", HOOKS, SUBSCRIPTIONS, "Subscribe an address to events", "Made",
        status=201, form=SubscriptionForm, is_create=True,
        example={"target_url": "https://hooks.example/waypost", "events": "link.clicked"},
    ),
    call("subscriptions_read", "GET", HOOK, SUBSCRIPTIONS, "Read a subscription", "Subscription"),
    call("subscriptions_delete", "DELETE", HOOK, SUBSCRIPTIONS, "Unsubscribe", None, status=204),
    call(
        "subscriptions_samples", "GET", f"{HOOKS}/samples", SUBSCRIPTIONS, "Show what a target gets",
        "PushedBody", query={"event": {"type": "string", "enum": list(SUBSCRIBED)}},
        example={"event": "link.clicked"},
    ),
    call("domains_verify", "POST", "/domains/{id}/verify", DOMAINS, "Look for the proof now", "Verification"),
    call(
        "trash_find", "GET", "/trash", TRASH, "List the trash", "Trashed", is_list=True,
        query={**of_list(TRASH_LIST), "type": {"type": "string", "enum": list(TRASH_KINDS)}},
    ),
    call(
        "trash_restore", "POST", "/trash/{id}/restore", TRASH, "Restore a deleted row", "Made",
        form=RestoreForm, example={"url": "spring"},
    ),
    call(
        "events", "GET", "/events", EVENTS, "List events after a cursor", "Event",
        has_cursor=True, query=OF_FEED, example={"limit": "100"},
    ),
    call("user", "GET", "/user", ACCOUNT, "Read whose key it is", "User"),
    call("workspace_read", "GET", "/workspace", WORKSPACE, "Read the workspace of the key", "Workspace"),
    call("workspace_update", "POST", "/workspace", WORKSPACE, "Rename the workspace", "Made", **RENAME),
    call("workspace-members_find", "GET", MEMBERS, WORKSPACE, "List members", "Member", **OF_MEMBERS),
    call(
        "workspace-members_post", "POST", MEMBERS, WORKSPACE, "Invite a member", "Made", status=201,
        form=MemberInvitationForm, is_create=True, example={"email": "carol@example.com", "role": "editor"},
        **BY_MEMBERS_KEY,
    ),
    call("workspace-members_read", "GET", MEMBER, WORKSPACE, "Read a member", "Member"),
    call("workspace-members_update", "POST", MEMBER, WORKSPACE, "Change a member's role", "Made", **ROLE),
    call("workspace-members_delete", "DELETE", MEMBER, WORKSPACE, "Remove a member", None, status=204,
         description=f"{BY_MEMBERS_KEY['description']} {REMOVAL}"),
    call(
        "workspace-invitations_find", "GET", INVITED, WORKSPACE, "List invitations", "Invitation",
        is_list=True, query=of_list(INVITATIONS, MemberForm),
    ),
    call("workspace-invitations_read", "GET", INVITATION, WORKSPACE, "Read an invitation", "Invitation"),
    call("workspace-invitations_delete", "DELETE", INVITATION, WORKSPACE, "Revoke an invitation", None,
         status=204, **BY_MEMBERS_KEY),
    call(
        "audit", "GET", "/audit", ACCOUNT, "List the audit log", "AuditEntry", is_list=True,
        query=of_list(audit_log_of(0, AuditReader(None))), example={"group": "keys"},
    ),
    call(
        "openapi", "GET", "/openapi.json", ACCOUNT, "Read this description", "application/json",
        needs_key=False,
    ),
)  # fmt: skip


def operations() -> Sequence[Operation]:
    """All operations, grouped by tag."""
    found = [one for path, kind in RESOURCES.items() for one in of_resource(path, kind)] + list(OTHERS)
    tags = list(dict.fromkeys(one.tag for one in found))
    return sorted(found, key=lambda one: tags.index(one.tag))
