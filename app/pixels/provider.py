"""The description of a pixel provider, and the registry of all providers, one file of `providers` each."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from types import MappingProxyType

from app.core.registry import modules
from app.i18n.messages import lazy_gettext as _l
from app.pixels import providers


@dataclass(frozen=True, kw_only=True)
class Provider:
    """One provider. Its neutral type is the name of its file.

    `words`: other names for the type, accepted as input. `looks_like`: the pattern of its identifiers;
    another value is stored all the same, because providers change them. `hint` says the pattern in words,
    `mismatch` says it of a value that is unlike it: whole messages, with slots for `label` and `example`.

    `code`: JavaScript that makes the provider's documented calls for one page view. Its variables are `ids`,
    an array of texts without duplicates, and `load(address)`, which adds a script to the page. `counts`: a
    JavaScript pattern of the URLs by which that script counts a view; the id is in the URL or in the body.
    `picture`: the URL that counts the view without a script, with `{id}` in it. `scripts`, `images`,
    `connections`, `frames`: the origins that it needs, for the page's policy. `is_owners_script`: it runs
    code of the owner's choice, so it is sandboxed like the owner's own script, and may call any host.
    """

    label: str
    words: tuple[str, ...]
    example: str
    looks_like: str
    hint: str
    mismatch: str
    help_url: str

    code: str
    scripts: tuple[str, ...]
    images: tuple[str, ...] = ()
    connections: tuple[str, ...] = ()
    frames: tuple[str, ...] = ()
    counts: str | None = None
    picture: str | None = None
    is_owners_script: bool = False

    def worded_hint(self) -> str:
        """What this provider calls an identifier, and how one looks."""
        return _l(self.hint, label=self.label)

    def warning(self, pixel: str) -> str | None:
        """The warning for an identifier that does not look like one of this provider's, else None."""
        if re.fullmatch(self.looks_like, pixel, re.ASCII):
            return None
        return _l(self.mismatch, label=self.label, example=self.example)


@cache
def all_providers() -> Mapping[str, Provider]:
    """Every provider by its type, in the order of the file names."""
    return MappingProxyType({type_: module.PROVIDER for type_, module in modules(providers).items()})
