"""Words of the dashboard that are tables, from `words.toml`. Each is a message, worded where it is shown."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from app.core.folders import ROOT
from app.i18n.messages import lazy_gettext

TABLE: Mapping[str, Any] = tomllib.loads((ROOT / "app" / "dashboard" / "words.toml").read_text("utf-8"))
CODES = {"icon", "tone"}  # keys whose values are no messages


def worded(value: Any) -> Any:
    """The same with each text as a lazy message."""
    if isinstance(value, dict):
        return {name: one if name in CODES else worded(one) for name, one in value.items()}
    return [worded(one) for one in value] if isinstance(value, list) else lazy_gettext(value)


def words_for(name: str) -> dict[str, Any]:
    """A table of `words.toml`."""
    found: dict[str, Any] = worded(TABLE[name])
    return found
