"""How do some pixels fire on one page: by which script, which pictures, and from which hosts?"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from urllib.parse import quote

from app.pixels.provider import Provider, all_providers

# what an owner may load and reach from a script of his own
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
    """A file of JavaScript, one expression, as it goes to visitors: without the comments."""
    return COMMENTS.sub("", path.read_text("utf-8")).strip()


FIRE_PIXELS = Path(__file__).with_name("fire_pixels.js")


@dataclass(frozen=True)
class Firing:
    """Pixels that fire together: the ids of each provider, every one once."""

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
        """Those of providers alone, and those that run what an owner likes."""
        owners = {type_ for type_, provider in self.providers.items() if provider.is_owners_script}
        return (
            Firing({type_: ids for type_, ids in self.ids.items() if type_ not in owners}),
            Firing({type_: ids for type_, ids in self.ids.items() if type_ in owners}),
        )

    def program(self, tell: str = "function () {}") -> str:
        """A JavaScript expression that fires them, safe in a script element; its value is a function that
        sends the pictures of those whose script has not counted the view by then.

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
        """What counts the view where no script runs."""
        found = [picture_of(one, id_) for type_, one in self.providers.items() for id_ in self.ids[type_]]
        return [address for address in found if address]

    def picture_hosts(self) -> dict[str, str]:
        """What a page's policy has to allow for the pictures alone."""
        hosts = dict.fromkeys("/".join(address.split("/")[:3]) for address in self.pictures())
        return {"img-src": " ".join(hosts)} if hosts else {}

    def hosts(self) -> dict[str, str]:
        """What the page's policy has to allow, by directive: the hosts of these providers and no other."""
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
    """How these pixels fire, each a type and an id. The same twice fires once."""
    ids: dict[str, list[str]] = {}
    for type_, id_ in pixels:
        # a type that this version does not know is stored still, and must not keep a visitor from going on
        if type_ in all_providers() and id_ not in ids.setdefault(type_, []):
            ids[type_].append(id_)
    return Firing({type_: tuple(found) for type_, found in ids.items() if found})


def picture_of(provider: Provider, id_: str) -> str | None:
    """The address that counts a view of this id without a script."""
    return provider.picture and provider.picture.format(id=quote(id_, safe=""))


def as_script(value: object) -> str:
    """A value as JavaScript that can't end the script element it stands in."""
    text = json.dumps(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
