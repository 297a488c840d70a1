"""The pixels of one page: the script and pictures that fire them, and the hosts its policy must allow."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from app.pixels.provider import Provider, all_providers

# what an owner's own script may load and connect to
ANY_HOST = {
    "script-src": "'unsafe-inline' 'unsafe-eval' https:",
    "style-src": "'unsafe-inline' https:",
    "img-src": "https: data:",
    "connect-src": "https: wss:",
    "frame-src": "https:",
    "font-src": "https: data:",
    "media-src": "https:",
}
DIRECTIVES = {
    "script-src": "scripts",
    "img-src": "images",
    "connect-src": "connections",
    "frame-src": "frames",
}

COMMENTS = re.compile(r"^\s*//.*\n", re.MULTILINE)


@cache
def program_of(path: Path) -> str:
    """The JavaScript expression in a file, without its comments, as it is sent to visitors."""
    return COMMENTS.sub("", path.read_text("utf-8")).strip()


FIRE_PIXELS = Path(__file__).with_name("fire_pixels.js")


@dataclass(frozen=True)
class Firing:
    """Pixels that fire together: the ids of each provider, without duplicates."""

    ids: Mapping[str, tuple[str, ...]]

    def __bool__(self) -> bool:
        return bool(self.ids)

    @property
    def providers(self) -> Mapping[str, Provider]:
        return {type_: all_providers()[type_] for type_ in self.ids}

    @property
    def has_owners_script(self) -> bool:
        return any(provider.is_owners_script for provider in self.providers.values())

    def parted(self) -> tuple[Firing, Firing]:
        """The pixels split in two: those of fixed providers, and those that run an owner's script."""
        owners = {type_ for type_, provider in self.providers.items() if provider.is_owners_script}
        return (
            Firing({type_: ids for type_, ids in self.ids.items() if type_ not in owners}),
            Firing({type_: ids for type_, ids in self.ids.items() if type_ in owners}),
        )

    def program(self, tell: str = "function () {}") -> str:
        """A JavaScript expression that fires the pixels, safe in a script element.

        Its value is a function that loads the pictures of those whose script has not counted the view yet.
        `tell` is JavaScript of a function: see `fire_pixels.js`.
        """
        if not self.ids:
            return ""
        calls = [
            f"{as_script(type_)}: function (ids, load) {{{one.code}}}"
            for type_, one in self.providers.items()
        ]
        pixels = [
            {
                "type": type_,
                "id": id_,
                "counts": provider.counts,
                "picture": picture_of(provider, id_),
            }
            for type_, provider in self.providers.items()
            for id_ in self.ids[type_]
        ]
        return f"{program_of(FIRE_PIXELS)}({as_script(pixels)}, {{{', '.join(calls)}}}, {tell})"

    def pictures(self) -> list[str]:
        """The URLs of the pictures that count the view where no script runs."""
        found = [picture_of(one, id_) for type_, one in self.providers.items() for id_ in self.ids[type_]]
        return [address for address in found if address]

    def picture_hosts(self) -> dict[str, str]:
        """The directives that a page's policy needs for the pictures alone."""
        hosts = dict.fromkeys("/".join(address.split("/")[:3]) for address in self.pictures())
        return {"img-src": " ".join(hosts)} if hosts else {}

    def hosts(self) -> dict[str, str]:
        """The hosts that the page's policy has to allow, by directive: those of these providers and no other.

        With an owner's script, any https host.
        """
        if self.has_owners_script:
            return dict(ANY_HOST)
        found: dict[str, str] = {}
        for directive, name in DIRECTIVES.items():
            named = dict.fromkeys(host for one in self.providers.values() for host in getattr(one, name))
            if named:
                found[directive] = " ".join(named)
        return found


NOTHING = Firing({})


def firing(pixels: Iterable[tuple[str, str]]) -> Firing:
    """The firing of these pixels, each a type and an id. A duplicate fires once."""
    ids: dict[str, list[str]] = {}
    for type_, id_ in pixels:
        # a stored pixel may have a type that this version does not know; it must not break the visitor's page
        if type_ in all_providers() and id_ not in ids.setdefault(type_, []):
            ids[type_].append(id_)
    return Firing({type_: tuple(found) for type_, found in ids.items() if found})


def picture_of(provider: Provider, id_: str) -> str | None:
    """The URL of the picture that counts a view of this id without a script; None where there is none."""
    return provider.picture and provider.picture.format(id=quote(id_, safe=""))


def as_script(value: object) -> str:
    """A value as a JavaScript literal that can't end the script element around it."""
    text = json.dumps(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
