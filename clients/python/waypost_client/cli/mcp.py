"""The command `way mcp`: tools for assistants."""

from __future__ import annotations

import asyncio
import os

import click

from waypost_client.cli import profiles
from waypost_client.cli.command import way
from waypost_client.client import AsyncClient

TOKEN, OLD_TOKEN = "WAY_MCP_TOKEN", "WAYPOST_MCP_TOKEN"
MISSING = "way mcp needs the package mcp. Install it: pip install 'waypost-client[mcp]'"


@way.command()
@click.option("--http", "is_http", is_flag=True, help="Serve HTTP instead of standard input and output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to serve HTTP on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8765, show_default=True)
@click.option("--name", "names", multiple=True, metavar="HOST[:PORT]", help="Another host that clients name.")
@click.option("--profile", envvar=profiles.PROFILE, default=profiles.DEFAULT, show_default=True)
def mcp(is_http: bool, host: str, port: int, names: tuple[str, ...], profile: str) -> None:
    """Serves tools for assistants by the Model Context Protocol.

    Whoever reaches it acts with the profile's key, so HTTP is for this machine alone. On another address than
    the loopback, WAY_MCP_TOKEN must hold a token, which clients send as a bearer token.
    """
    try:
        from waypost_client.agents.server import Agent
        from waypost_client.agents.transports import PATH, is_loopback, serve_http, serve_stdio
    except ImportError as error:
        raise click.ClickException(MISSING) from error
    token = os.environ.get(TOKEN, "")
    if is_http and not token and os.environ.get(OLD_TOKEN):  # else it would serve without one
        raise click.UsageError(f"{OLD_TOKEN} is not read any more. Set {TOKEN} instead.")
    if is_http and not token and not is_loopback(host):
        raise click.UsageError(f"Others can reach this --host: set {TOKEN} to a token for them.")
    found = profiles.load(profile)

    async def run() -> None:
        async with AsyncClient(found.url, found.key) as client:
            server = (await Agent.of_client(client)).server()
            if is_http:
                click.echo(f"http://{host}:{port}{PATH}", err=True)
                await serve_http(server, host, port, names=names, token=token)
            else:
                await serve_stdio(server)

    try:
        asyncio.run(run())
    except ValueError as error:
        raise click.ClickException(str(error)) from error
