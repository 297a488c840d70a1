"""The API's resources: links, pixels, notification handlers, projects, domains, the user, the audit log."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from flask import Response

from app.accounts.access import OWNER, Access
from app.api import envelope, present
from app.api.auth import authenticated_user, may, request_access, request_key
from app.api.blueprint import blueprint
from app.api.resource import Resource, collection_route, row_route
from app.audit.lists import AuditReader, log_of, visible_values
from app.domains import services as domain_services
from app.domains import verification
from app.events.push import handlers as handler_services
from app.input.listing import find_page
from app.links import services as link_services
from app.links.models import Link
from app.notifications.models import NotificationHandler
from app.pixels import services as pixel_services
from app.projects import services as project_services
from app.web.body import read_list_query, read_sent


@collection_route("/links")
@row_route("/links/<row_id:id>")
class Links(Resource):
    """Links; one create makes one for each of several destinations."""

    services = link_services

    def create(self, access: Access, changes: dict[str, Any]) -> Link | list[Link]:
        if "location_urls" in changes:
            return link_services.create_bulk(access, changes)
        return link_services.create(access, changes)

    def present(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        return present.links(rows)

    def present_new(self, row: Any) -> dict[str, Any]:
        return present.new_link(row)

    def hidden_state(self, row: Any) -> int:
        return int(row.password_version)


@collection_route("/pixels")
@row_route("/pixels/<row_id:id>")
class Pixels(Resource):
    """Pixels."""

    services = pixel_services

    def present(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        return present.pixels(rows)


@collection_route("/notification-handlers")
@row_route("/notification-handlers/<row_id:id>")
class NotificationHandlers(Resource):
    """Notification handlers. What is done with one beside these is in `deliveries`."""

    services = handler_services

    def present(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        return mask_handlers(rows)


def mask_handlers(rows: Sequence[NotificationHandler]) -> list[dict[str, Any]]:
    """Handlers as objects. Who may only read gets their secrets masked: with these one could send."""
    return [present.handler(row, with_secrets=may("read_secrets")) for row in rows]


@collection_route("/projects")
@row_route("/projects/<row_id:id>")
class Projects(Resource):
    """Projects."""

    services = project_services

    def present(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        return present.projects(rows)


@collection_route("/domains")
@row_route("/domains/<row_id:id>")
class Domains(Resource):
    """Domains."""

    services = domain_services

    def present(self, rows: Sequence[Any]) -> list[dict[str, Any]]:
        return present.domains(rows)


@blueprint.post("/domains/<row_id:id>/verify", endpoint="domains_verify", strict_slashes=False)
def verify_domain(id: int) -> Response:
    """Looks for either proof of ownership now. A missing proof is no error: the checks say what was found."""
    read_sent()
    domain, found = verification.verify(request_access(), id)
    checks = [finding._asdict() | {"detail": str(finding.detail)} for finding in found]
    return envelope.json_response({"data": {"is_verified": domain.is_verified, "checks": checks}})


@blueprint.get("/user", endpoint="user", strict_slashes=False)
def read_user() -> Response:
    row = request_key().workspace
    workspace = {"id": row.id, "name": row.name, "role": request_key().role}
    return envelope.json_response({"data": present.user(authenticated_user()) | {"workspace": workspace}})


@blueprint.get("/audit", endpoint="audit", strict_slashes=False)
def find_audit_entries() -> Response:
    """Lists what concerns the user, and to owners what happened in the workspace.

    It holds no secret: a collector of logs may use a key that only reads.
    """
    mine = request_access().workspace_id
    reader = AuditReader(authenticated_user().id, mine if request_key().role == OWNER else None)
    page = find_page(log_of(mine, reader), mine, dict(read_list_query()))
    return envelope.listed(page, [visible_values(entry, reader) for entry in page.rows])
