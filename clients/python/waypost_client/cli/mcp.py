"""The command `way mcp`: tools for assistants."""

from __future__ import annotations

import asyncio

import click

from waypost_client.cli import profiles
from waypost_client.cli.command import way
from waypost_client.client import AsyncClient

MISSING = "way mcp needs the package mcp. Install it: pip install 'waypost-client[mcp]'"


@way.command()
@click.option("--profile", envvar=profiles.PROFILE, default=profiles.DEFAULT, show_default=True)
def mcp(profile: str) -> None:
    """Serves tools for assistants by the Model Context Protocol, over standard input and output.

    The assistant acts with the profile's key.
    """
    try:
        from mcp.server.stdio import stdio_server

        from waypost_client.agents.server import Agent
    except ImportError as error:
        raise click.ClickException(MISSING) from error
    found = profiles.load(profile)

    async def run() -> None:
        async with AsyncClient(found.url, found.key) as client:
            server = (await Agent.of_client(client)).server()
            async with stdio_server() as (read, write):
                await server.run(read, write, server.create_initialization_options())

    try:
        asyncio.run(run())
    except ValueError as error:
        raise click.ClickException(str(error)) from error
