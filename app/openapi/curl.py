"""How is a call made by hand? By a `curl` that works as copied, once the key is in `$WAYPOST_KEY`."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from urllib.parse import urlencode

from app.api.openapi.operations import Operation

AUTHORIZATION = '-H "Authorization: Bearer $WAYPOST_KEY"'  # in double quotes: the shell puts the key in


def line(site: str, one: Operation, ids: Mapping[str, int]) -> str:
    """`ids`: of each first part of a path, a row that there is; 1 where there is none."""
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
