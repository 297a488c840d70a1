"""`curl` commands for API calls, which work as copied once the key is in `$WAYPOST_KEY`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from urllib.parse import urlencode

from app.openapi.operations import Operation

AUTHORIZATION = '-H "Authorization: Bearer $WAYPOST_KEY"'  # double quotes, so that the shell inserts the key


def line(site: str, one: Operation, ids: Mapping[str, int]) -> str:
    """The `curl` command of an operation. `ids`: a row's id for each first part of a path; default 1."""
    kind = one.path.split("/")[1]
    address = f"{site}/api{one.path.replace('{id}', str(ids.get(kind, 1)))}"
    if one.query and one.example:
        address += f"?{urlencode(one.example)}"
    parts = ["curl", "-X DELETE" if one.method == "DELETE" else "", shlex.quote(address)]
    parts += [AUTHORIZATION] if one.needs_key else []
    parts += [f"-F {shlex.quote(f'{name}={value}')}" for name, value in one.example.items() if one.form]
    if one.method == "POST" and not one.form:
        parts.insert(1, "-X POST")
    if one.gives == "image/*":
        parts.append("-o qr.png")
    return " ".join(filter(None, parts))
