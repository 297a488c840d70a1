"""What is a way to deliver, and which ones are there? One file of `transports` each."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from types import MappingProxyType

from app.addresses import split_address
from app.config import Settings
from app.notifications import transports
from app.notifications.door import Door
from app.notifications.message import Message
from app.registry import modules
from app.sealing import Unreadable


def mailbox_of(email: str) -> str:
    """`Ann+news@x.example` → `ann@x.example`: most mail servers deliver both to one reader."""
    local, _, domain = email.lower().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"


def host_of(address: str) -> str:
    """`https://X.example/hook/1` → `x.example`: a path costs nothing."""
    return split_address(address).hostname or ""


# by the kind of setting; a token only says who may write there
TARGETS: Mapping[str, Callable[[str], str]] = {
    "email": mailbox_of,
    "address": host_of,
    "chat": str.lower,
}


@dataclass(frozen=True, kw_only=True)
class Setting:
    """One thing that an owner fills in, stored under `name` in the handler's settings.

    `kind`: what it has to be, one of `email`, `address`, `token`, `chat`. `words`: the provider's own names
    for it, taken as input. `is_secret`: a read-only key does not see it, and lists do not show it.
    `is_hidden`: a read-only key does not see it, for it may hold a key (the address of a webhook).
    """

    name: str
    label: str
    kind: str
    example: str
    guidance: str
    words: tuple[str, ...] = ()
    is_secret: bool = False
    is_hidden: bool = False


@dataclass(frozen=True, kw_only=True)
class Sent:
    """It has arrived. `changes` are settings of the handler that are others now (a chat has moved)."""

    status_code: int | None = None
    answer: str = ""
    changes: Mapping[str, str] = field(default_factory=dict)


class Refused(Exception):
    """It has not arrived: `reason` says why, in words for the owner.

    `retry_after`: seconds that the other side asks for. `permanent`: this message will never be taken.
    `gone`: nothing will ever be taken, so that the handler is switched off. `answer`: what came back.
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
    """One way to deliver. Its neutral type is the name of its file.

    `send(fields, message, door)` is given the handler's settings; it returns Sent or raises Refused, and lets
    the door's NoAnswer pass. It has `door.left()` seconds, and is called from many threads at once.
    `words`: other names for the type, taken as input. `makes`: settings nobody fills in, made when a handler
    becomes one of this type; `renew` gives the settings with new ones of these. `steps`: how an owner comes
    by what he has to fill in. `lacks`: what the operator has not set up, in words. `icon` is one of
    templates/_icons.svg. `confirms`: the setting with an e-mail address whose reader has to agree first.
    """

    label: str
    settings: tuple[Setting, ...]
    send: Callable[[Mapping[str, str], Message, Door], Sent]
    words: tuple[str, ...] = ()
    makes: Mapping[str, Callable[[], str]] = field(default_factory=dict)
    renew: Callable[[Mapping[str, str], dt.datetime], dict[str, str]] | None = None
    steps: tuple[str, ...] = ()
    lacks: Callable[[Settings], str] = lambda settings: ""  # noqa: ARG005
    icon: str = "message-square"
    confirms: str = ""

    def shown(self, settings: Mapping[str, str]) -> dict[str, str | None]:
        """What an owner knows of the settings: what they filled in, and what was made for them. None for what
        this secret key can't read."""
        names = [*(one.name for one in self.settings), *self.makes]
        if isinstance(settings, Unreadable):
            return dict.fromkeys(names)
        return {name: settings[name] for name in names if name in settings}

    def target_of(self, settings: Mapping[str, str]) -> str:
        """Who receives what is sent, by which tests are limited: another spelling is the same one."""
        found = [
            TARGETS[one.kind](settings.get(one.name, "")) for one in self.settings if one.kind in TARGETS
        ]
        return "\n".join(found)

    @property
    def secrets(self) -> frozenset[str]:
        """The names of all settings that a read-only key does not see."""
        hidden = {one.name for one in self.settings if one.is_secret or one.is_hidden}
        return frozenset(hidden | set(self.makes))


@cache
def all_transports() -> Mapping[str, Transport]:
    """Every transport by its type, in the order of the file names."""
    return MappingProxyType({type_: module.TRANSPORT for type_, module in modules(transports).items()})
