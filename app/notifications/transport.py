"""What is a way to deliver, and which ones are there? One file of `transports` each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from app.notifications import transports
from app.registry import modules


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One thing that an owner fills in, stored under `name` in the handler's settings.

    `kind`: what it has to be, one of `email`, `address`, `token`, `chat`. `words`: the provider's own names
    for it, taken as input. `is_secret`: a read-only key does not see it.
    """

    name: str
    label: str
    kind: str
    example: str
    guidance: str
    words: tuple[str, ...] = ()
    is_secret: bool = False


@dataclass(frozen=True, kw_only=True)
class Transport:
    """One way to deliver. Its neutral type is the name of its file.

    `words`: other names for the type, taken as input. `makes`: settings nobody fills in, made when a handler
    becomes one of this type.
    """

    label: str
    settings: tuple[Setting, ...]
    words: tuple[str, ...] = ()
    makes: Mapping[str, Callable[[], str]] = field(default_factory=dict)

    @property
    def secrets(self) -> frozenset[str]:
        """The names of all settings that a read-only key does not see."""
        return frozenset({one.name for one in self.settings if one.is_secret} | set(self.makes))


@cache
def all_transports() -> Mapping[str, Transport]:
    """Every transport by its type, in the order of the file names."""
    return MappingProxyType({type_: module.TRANSPORT for type_, module in modules(transports).items()})
