"""Runs the command `way`."""

from __future__ import annotations

from waypost_client.cli import (  # each adds its commands
    account,
    events,
    links,
    mcp,
    resources,
    transfer,
    workspace,
)
from waypost_client.cli.command import way

MODULES = (account, events, links, mcp, resources, transfer, workspace)


def main() -> None:
    way(prog_name="way")


if __name__ == "__main__":
    main()
