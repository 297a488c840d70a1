"""Form of pixels; their creation, changes, deletion, restoring and lists.

links/invalidation.py drops the links that use one.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy.orm.attributes import flag_modified

from app.accounts.access import Access
from app.core.clock import now
from app.core.database import reread
from app.core.extensions import db
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import ChoiceField, PatternField, ResourceForm, TextField
from app.input.listing import Listing, contains, one_of
from app.pixels.models import Pixel
from app.pixels.provider import all_providers
from app.trash import services as trash
from app.trash.models import Trashed

PROVIDERS = all_providers()


class PixelForm(ResourceForm):
    """A pixel: its provider, a name for people, and the provider's own identifier."""

    together = (("type", "pixel"),)

    type = ChoiceField(
        _l("Provider"),
        required=True,
        choices={type_: provider.label for type_, provider in PROVIDERS.items()},
        also={word: type_ for type_, provider in PROVIDERS.items() for word in provider.words},
    )
    name = TextField(_l("Name"), required=True, most=128)
    pixel = PatternField(
        _l("Identifier"),
        required=True,
        pattern=r"[A-Za-z0-9._:-]+",
        problem=_l("This must be letters A to Z, digits, and . _ : -."),
    )


def create(access: Access, changes: dict[str, Any]) -> Pixel:
    """Create a pixel from `changes`: type, name and pixel."""
    pixel = Pixel(**access.row_columns, **changes)
    db.session.add(pixel)
    db.session.flush()
    return pixel


def update(pixel: Pixel, changes: dict[str, Any]) -> Pixel:
    """Change what `changes` names. Raises NotFound when the pixel was deleted meanwhile."""
    reread(db.session, pixel)
    if not changes:
        return pixel  # nothing was edited, so the last edit was another one
    for name, value in changes.items():
        setattr(pixel, name, value)
    pixel.last_datetime = now()
    db.session.flush()
    return pixel


def delete(pixel: Pixel) -> str:
    """Move it to the trash, which takes it off its links. Raises NotFound when it is gone already.

    Returns the batch, by which it can be restored.
    """
    reread(db.session, pixel)
    batch = trash.throw_away([pixel], lambda pixel: (pixel.name, pixel.pixel))
    db.session.delete(pixel)
    db.session.flush()
    return batch


def restore(trashed: Trashed) -> Pixel:
    """Restore it, on the links that it was on."""
    pixel: Pixel = trash.put_back([trashed], Pixel)[0]
    # marked as changed, so that the listeners for changes invalidate the compiled links that use it
    flag_modified(pixel, "name")
    db.session.flush()
    return pixel


WORDS = {type_: type_ for type_ in all_providers()} | {
    word: type_ for type_, provider in all_providers().items() for word in provider.words
}

LISTING = Listing(
    model=Pixel,
    filters={
        "search": lambda text, params: contains(text, Pixel.name, Pixel.pixel),  # noqa: ARG005
        "type": lambda text, params: Pixel.type == WORDS[one_of(list(WORDS))(text)],  # noqa: ARG005
    },
    orders={
        "pixel_id": Pixel.id,
        "datetime": Pixel.datetime,
        "last_datetime": Pixel.last_datetime,
        "name": Pixel.name,
    },
)
