"""How does a pixel change? (Whoever uses it learns of that by itself: see links/replan.py.)"""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm.attributes import flag_modified

from app.accounts.models import User
from app.clock import now
from app.database import reread
from app.extensions import db
from app.pixels.models import Pixel
from app.trash import services as trash
from app.trash.models import Trashed


def create(user: User, changes: dict[str, Any]) -> Pixel:
    """A new pixel of `changes`: type, name and pixel."""
    pixel = Pixel(user_id=user.id, **changes)
    db.session.add(pixel)
    db.session.flush()
    return pixel


def update(pixel: Pixel, changes: dict[str, Any]) -> Pixel:
    """Change what `changes` names. Raises NotThere when the pixel was deleted meanwhile."""
    reread(db.session, pixel)
    if not changes:
        return pixel  # nothing was edited, so the last edit was another one
    for name, value in changes.items():
        setattr(pixel, name, value)
    pixel.last_datetime = now()
    db.session.flush()
    return pixel


def delete(pixel: Pixel) -> str:
    """Into the trash, which takes it off its links. Raises NotThere when it is gone already.

    Returns the batch, by which it can be put back.
    """
    reread(db.session, pixel)
    batch = trash.throw_away([pixel], lambda pixel: (pixel.name, pixel.pixel))
    db.session.delete(pixel)
    db.session.flush()
    return batch


def restore(trashed: Trashed) -> Pixel:
    """Have it again, on the links that it was on."""
    pixel: Pixel = trash.put_back([trashed], Pixel)[0]
    # written once more as it is: those who listen to changes learn that it is there again
    flag_modified(pixel, "name")
    db.session.flush()
    return pixel
