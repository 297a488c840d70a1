"""Addresses of owners' own servers: what may be one, and the address of something on it."""

from __future__ import annotations

from app.i18n.messages import lazy_gettext as _l
from app.input.parsers import Rejected


def require_server(text: str) -> None:
    """Raises Rejected for an address with a query or a fragment: nothing can be added behind these."""
    if "?" in text or "#" in text:
        raise Rejected(_l("This must be the address of the server alone, without ? and #."), "format")


def on_server(server: str, path: str) -> str:
    """`https://x.example/push/` and `message` → `https://x.example/push/message`."""
    return f"{server.rstrip('/')}/{path}"
