"""The form of a pixel."""

from __future__ import annotations

from app.i18n.messages import lazy_gettext as _l
from app.input.forms import ChoiceField, PatternField, ResourceForm, TextField
from app.pixels.provider import all_providers

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
