"""A service in a write of its own, as the edges call it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from app.core.database import begin_write
from app.core.extensions import db


def write(service: Callable[..., Any], *arguments: Any) -> Any:
    """What the service returns, once it is committed."""
    begin_write(db.session)
    found = service(*arguments)
    db.session.commit()
    return found
