"""How do some pixels fire on one page: by which script, which pictures, and from which hosts?"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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

# `blocked` is called once, when not one of the providers' scripts could be had
PROGRAM = """(function (blocked) {
  var waiting = 0, answered = false;
  function load(address) {
    var script = document.createElement("script");
    script.async = true;
    script.src = address;
    script.onload = function () { answered = true; };
    script.onerror = function () { waiting -= 1; if (!waiting && !answered) { blocked(); } };
    waiting += 1;
    document.head.appendChild(script);
  }
  function fire(ids, calls) {
    try { calls(ids); } catch (error) { console.error(error); }
  }
%s
})(%s);"""

# Without a page's origin a provider's script may fail at its cookies: then its picture still counts the view
LATE_PICTURES = """setTimeout(function () {
  var asked = performance.getEntriesByType("resource").map(function (entry) { return entry.name; });
  %s.forEach(function (picture) {
    var is_asked = asked.some(function (name) {
      return name.indexOf(picture.begins) === 0 && name.indexOf(picture.id) >= 0;
    });
    if (!is_asked) { new Image().src = picture.address; }
  });
}, %d);"""
LATE_MS = 400


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

    def script(self, blocked: str = "function () {}") -> str:
        """The program that fires them, safe in a script element; `blocked` is JavaScript of a function."""
        calls = [
            f"  fire({as_script(ids)}, function (ids) {{{self.providers[type_].code}}});"
            for type_, ids in self.ids.items()
        ]
        return PROGRAM % ("\n".join(calls), blocked) if calls else ""

    def late_pictures(self) -> str:
        """JavaScript that asks for the pictures of those whose script has asked for no such thing."""
        pictures = [
            {"address": address, "begins": address.partition("?")[0].rstrip("/"), "id": id_}
            for id_, address in self.by_picture()
        ]
        return LATE_PICTURES % (as_script(pictures), LATE_MS) if pictures else ""

    def pictures(self) -> list[str]:
        """What counts the view where no script runs."""
        return [address for _, address in self.by_picture()]

    def by_picture(self) -> list[tuple[str, str]]:
        found = [(provider.picture, self.ids[type_]) for type_, provider in self.providers.items()]
        return [
            (id_, picture.format(id=quote(id_, safe=""))) for picture, ids in found if picture for id_ in ids
        ]

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


def as_script(value: object) -> str:
    """A value as JavaScript that can't end the script element it stands in."""
    text = json.dumps(value)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
