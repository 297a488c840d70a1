"""The interface of a transport, and the registry of all transports, one file of `transports` each."""

# see docs/decisions/2026-11-21-ways-to-deliver.md
from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from app.core.config import Settings
from app.core.encryption import UnreadableSecret
from app.core.registry import modules
from app.core.urls import split_address
from app.net.session import OutboundSession
from app.notifications import transports
from app.notifications.message import Message


def mailbox_of(email: str) -> str:
    """`Ann+news@x.example` → `ann@x.example`: most mail servers deliver both to one reader."""
    local, _, domain = email.lower().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"


def host_of(address: str) -> str:
    """`https://X.example/hook/1` → `x.example`: paths of one host are free to make, so they count as one."""
    return split_address(address).hostname or ""


# how a setting of each kind names its receiver; a token names none, it only gives access
TARGETS: Mapping[str, Callable[[str], str]] = {
    "email": mailbox_of,
    "address": host_of,
    "chat": str.lower,
    "recipient": str,
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """A setting that an owner fills in, stored under `name` in the handler's settings.

    `kind`: one of `email`, `address`, `token`, `chat`, `identifier`, `recipient`, `lines`. A `recipient` is
    an identifier that names the receiver by itself, `lines` is a text of several lines. `words`: the
    provider's own names for it, accepted as input. `is_secret`: a read-only key does not see it, and lists do
    not show it. `is_hidden`: a read-only key does not see it, because it may contain a key (the URL of a
    webhook). `most`: its longest text, where that is not the usual one of its kind. `pattern`: the whole form
    of an identifier, which `problem` says in words. `check`: raises Rejected for a value that has the right
    form, but can't be used.
    """

    name: str
    label: str
    kind: str
    example: str
    guidance: str
    words: tuple[str, ...] = ()
    is_secret: bool = False
    is_hidden: bool = False
    is_optional: bool = False
    most: int | None = None
    pattern: str = ""
    problem: str = ""
    check: Callable[[str], object] | None = None


@dataclass(frozen=True, kw_only=True)
class Delivered:
    """The message has arrived. `changes`: new values of the handler's settings (a chat has moved)."""

    status_code: int | None = None
    answer: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)


class DeliveryFailed(Exception):
    """The message has not arrived: `reason` says why, in words for the owner.

    `retry_after`: seconds that the other side asks for. `permanent`: it will never accept this message.
    `gone`: it will never accept any message, so the handler is switched off. `answer`: its answer.
    """

    def __init__(
        self,
        reason: str,
        *,
        retry_after: float | None = None,
        permanent: bool = False,
        gone: bool = False,
        status_code: int | None = None,
        answer: str = "",
    ) -> None:
        super().__init__(reason)
        self.reason, self.retry_after, self.permanent, self.gone = reason, retry_after, permanent, gone
        self.status_code, self.answer = status_code, answer


@dataclass(frozen=True, kw_only=True)
class Transport:
    """One kind of delivery. Its neutral type is the name of its file.

    `send(fields, message, outbound)` gets the handler's settings; it returns Delivered or raises
    DeliveryFailed, and lets the session's NoAnswer pass. It has `outbound.left()` seconds. Many threads call
    it at once.
    `words`: other names for the type, accepted as input. `makes`: settings that are generated when a handler
    gets this type; `renew` returns the settings with new ones of these. `steps`: how owners get the values
    that they fill in. `lacks`: what the operator has not set up, in words. `icon` is one of
    templates/_icons.svg. `confirms`: the setting with an e-mail address whose recipient has to agree first.
    `takes_batches`: a program reads it, which gets clicks in batches and each change by itself; people get a
    summary. `is_subscription`: programs make and end such handlers by the API, and owners only look at them.
    """

    label: str
    settings: tuple[Setting, ...]
    send: Callable[[Mapping[str, str], Message, OutboundSession], Delivered]
    words: tuple[str, ...] = ()
    makes: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    renew: Callable[[Mapping[str, str], dt.datetime], dict[str, str]] | None = None
    steps: tuple[str, ...] = ()
    lacks: Callable[[Settings], str] = lambda settings: ""  # noqa: ARG005
    icon: str = "message-square"
    confirms: str = ""
    takes_batches: bool = False
    is_subscription: bool = False

    def visible_settings(self, settings: Mapping[str, str]) -> dict[str, str | None]:
        """The settings as their owner sees them: those filled in, and those generated.

        All are None where this instance's secret key can't decrypt them.
        """
        names = [*(one.name for one in self.settings), *self.makes]
        if isinstance(settings, UnreadableSecret):
            return dict.fromkeys(names)
        return {name: settings[name] for name in names if name in settings}

    def target_of(self, settings: Mapping[str, str]) -> str:
        """The receiver, by which test messages are limited. Other spellings of it give the same text."""
        found = [
            TARGETS[one.kind](settings.get(one.name, "")) for one in self.settings if one.kind in TARGETS
        ]
        return "\n".join(found)

    def host_of(self, settings: Mapping[str, str]) -> str:
        """The host that an owner's address names; "" where the service, or the operator, has one for all."""
        addresses = [settings.get(one.name) for one in self.settings if one.kind == "address"]
        return next((host_of(address) for address in addresses if address), "")

    @property
    def secrets(self) -> frozenset[str]:
        """The names of all settings that a read-only key does not see."""
        hidden = {one.name for one in self.settings if one.is_secret or one.is_hidden}
        return frozenset(hidden | set(self.makes))


@cache
def all_transports() -> Mapping[str, Transport]:
    """Every transport by its type, in the order of the file names."""
    return MappingProxyType({type_: module.TRANSPORT for type_, module in modules(transports).items()})


@cache
def chosen_transports() -> Mapping[str, Transport]:
    """Those that an owner chooses from: all but those of handlers that programs make."""
    found = all_transports().items()
    return MappingProxyType({type_: one for type_, one in found if not one.is_subscription})
