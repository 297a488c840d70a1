"""How does a pixel change? (Whoever uses it learns of that by itself: see links/replan.py.)"""

from __future__ import annotations

from typing import Any

from app.accounts.models import User
from app.clock import now
from app.database import reread
from app.extensions import db
from app.pixels.models import Pixel


def create(user: User, changes: dict[str, Any]) -> Pixel:
    """A new pixel of `changes`: type, name and pixel."""
    pixel = Pixel(user_id=user.id, **changes)
    db.session.add(pixel)
    db.session.flush()
    return pixel


def update(pixel: Pixel, changes: dict[str, Any]) -> Pixel:
    """Change what `changes` names. Raises NotThere when the pixel was deleted meanwhile."""
    reread(db.session, pixel)
    for name, value in changes.items():
        setattr(pixel, name, value)
    pixel.last_datetime = now()
    db.session.flush()
    return pixel


def delete(pixel: Pixel) -> None:
    """Delete it, which takes it off its links. Raises NotThere when it is gone already."""
    reread(db.session, pixel)
    db.session.delete(pixel)
    db.session.flush()
