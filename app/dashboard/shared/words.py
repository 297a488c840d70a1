"""Words of the dashboard that are tables, from `words.toml`. Each is a message, worded where it is shown."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from typing import Any

from app.core.folders import ROOT
from app.i18n.messages import worded

TABLE: Mapping[str, Any] = tomllib.loads((ROOT / "app" / "dashboard" / "words.toml").read_text("utf-8"))


def words_for(name: str) -> Any:
    """A table of `words.toml`."""
    return worded(TABLE[name])
