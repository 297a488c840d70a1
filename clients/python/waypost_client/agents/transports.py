"""How an assistant reaches the tools: standard input and output, or HTTP on this machine."""

from __future__ import annotations

import hmac
import ipaddress
from collections.abc import Sequence
from typing import Any

import uvicorn
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")


async def serve_stdio(server: Server[Any]) -> None:
    async with stdio_server() as (read, write):
        await server.run(read, write, server.create_initialization_options())


async def serve_http(
    server: Server[Any], host: str, port: int, *, names: Sequence[str] = (), token: str = ""
) -> None:
    """Serve until the process is told to end. `names`: other hosts by which it is reached, `host[:port]`."""
    app = http_app(server, port, names=names, token=token)
    config = uvicorn.Config(app, host=host, port=port, log_level="warning", server_header=False)
    await uvicorn.Server(config).serve()


def http_app(server: Server[Any], port: int, *, names: Sequence[str] = (), token: str = "") -> ASGIApp:
    """The application: a request must name a known host, come from no foreign page, and have the token."""
    hosts = [f"{name}:{port}" for name in LOOPBACK_NAMES] + list(names)
    security = TransportSecuritySettings(
        enable_dns_rebinding_protection=True,
        allowed_hosts=hosts,
        allowed_origins=[f"{scheme}://{host}" for host in hosts for scheme in ("http", "https")],
    )
    app = server.streamable_http_app(streamable_http_path=PATH, transport_security=security)
    return TokenRequired(app, token) if token else app


def is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host == "localhost"


class TokenRequired:
    """Answers 401 to requests without `Authorization: Bearer <token>`."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self.app, self.expected = app, f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http":
            sent = dict(scope["headers"]).get(b"authorization", b"")
            if not hmac.compare_digest(sent, self.expected):
                refusal = Response(status_code=401, headers={"WWW-Authenticate": "Bearer"})
                await refusal(scope, receive, send)
                return
        await self.app(scope, receive, send)
