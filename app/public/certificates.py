"""The endpoint that tells a proxy for which names it may request certificates.

Caddy asks it before it requests one for the name in a visitor's connection (`on_demand_tls`, `ask`).
Otherwise anyone could make it request certificates for any number of names.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from flask import Blueprint, Response, current_app

from app.core.config import Settings
from app.redirects.hosts import is_host
from app.redirects.request_context import redirect_context
from app.web.body import read_params
from app.web.urls import plain_host, without_port

blueprint = Blueprint("certificates", __name__)


@blueprint.get("/healthz/certificate")
def may_have_certificate() -> Response:
    """200 where `?domain=` is a name of this instance or a verified domain; else 404. No body.

    Raises Malformed, Invalid, StoreDown.
    """
    status = 200 if is_served(read_params().get("domain", "")) else 404
    return Response(status=status, headers={"Cache-Control": "no-store"})


def is_served(host: str) -> bool:
    """Whether this instance serves the name, by the hosts in the redirect context."""
    if not is_host(host) or ":" in host:
        return False
    settings: Settings = current_app.config["WAYPOST"]
    own = {plain_host(urlsplit(url).netloc) for url in (settings.base_url, settings.dashboard_url) if url}
    return (
        plain_host(host) in {without_port(name) for name in own}
        or redirect_context().compiled_links.site(host).domain_id > 0
    )
