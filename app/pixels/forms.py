"""The form of a pixel."""

from __future__ import annotations

from app.input.forms import ChoiceField, PatternField, ResourceForm, TextField
from app.pixels.provider import all_providers

PROVIDERS = all_providers()


class PixelForm(ResourceForm):
    """A pixel: its provider, a name for people, and the provider's own identifier."""

    type = ChoiceField(
        "Provider",
        required=True,
        choices={type_: provider.label for type_, provider in PROVIDERS.items()},
        also={word: type_ for type_, provider in PROVIDERS.items() for word in provider.words},
    )
    name = TextField("Name", required=True, most=128)
    pixel = PatternField(
        "Identifier",
        required=True,
        pattern=r"[A-Za-z0-9._:-]+",
        hint="letters A to Z, digits, and . _ : -",
    )
