"""Tells a proxy that fetches certificates by itself for which names it may.

Caddy asks before it fetches one for a name that a visitor's connection named (`on_demand_tls`, `ask`):
otherwise anybody could make it fetch certificates for names without end.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Blueprint, Response, current_app, request

from app.config import Settings
from app.public.here import desk
from app.visits.hosts import is_host, plain_host, without_port

blueprint = Blueprint("certificates", __name__)


@blueprint.get("/healthz/certificate")
def may_have_certificate() -> Response:
    """200 for `?domain=` a name of this instance or a verified domain; else 404. No body.

    Raises StoreDown.
    """
    status = 200 if is_served(request.args.get("domain", "")) else 404
    return Response(status=status, headers={"Cache-Control": "no-store"})


def is_served(host: str) -> bool:
    """Whether this instance answers for the name, by what is known of hosts in memory."""
    if not is_host(host) or ":" in host:
        return False
    settings: Settings = current_app.config["WAYPOST"]
    own = {plain_host(urlsplit(url).netloc) for url in (settings.base_url, settings.dashboard_url) if url}
    return plain_host(host) in {without_port(name) for name in own} or desk().plans.site(host).domain_id > 0
