"""Audited actions: their names, their groups, and which of them are about an owner's content."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

# Messages by names, in tables: `groups`, `actions` of each group, `reasons`, `methods` and `labels`.
TABLE = tomllib.loads((Path(__file__).parent / "actions.toml").read_text("utf-8"))
GROUPS: Mapping[str, str] = TABLE["groups"]
USERS, DELETIONS = "users", "deletions"
CONTENT = ("member.", "workspace.", "handler.", "share.", "domain.")


class Action(NamedTuple):
    """`is_content`: the action's object belongs to an owner (a link, a handler …). Admins see neither its
    name nor what changed, as they see no links of others."""

    label: str
    group: str
    is_content: bool


ACTIONS: Mapping[str, Action] = {
    name: Action(label, group, is_content=group == DELETIONS or name.startswith(CONTENT))
    for group, labels in TABLE["actions"].items()
    for name, label in labels.items()
}
