"""What did a request send? Names to values, however it was encoded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

KEY = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<index>[0-9]{0,9})\])?", re.ASCII)


@dataclass(frozen=True)
class Upload:
    """A file that was sent: its bytes and the name its sender gave it (never used as a path)."""

    filename: str
    content: bytes


@dataclass(frozen=True)
class Nested:
    """A value no field takes: an object, or a list inside a list."""


Value = str | Upload | Nested


class Sent:
    """The fields of one request, in the order they came.

    `k`, repeated `k`, `k[]`, `k[0]`…`k[1]` and a JSON array mean the same: members of `k`, those with
    an index in its order, the others numbered as they come. Values are text as sent, never trimmed;
    an empty file part of a browser is left out by whoever reads the body.
    """

    def __init__(self, pairs: Iterable[tuple[str, Value]] = ()) -> None:
        self._members: dict[str, list[tuple[int, Value]]] = {}
        self._last: dict[str, Value] = {}
        for key, value in pairs:
            self._add(key, value)

    def _add(self, key: str, value: Value) -> None:
        match = KEY.fullmatch(key)
        name = match["name"] if match else key
        members = self._members.setdefault(name, [])
        index = int(match["index"]) if match and match["index"] else len(members)
        members.append((index, value))
        self._last[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def last(self, name: str) -> Value:
        """The value of a scalar: the last one sent wins."""
        return self._last[name]

    def members(self, name: str) -> list[tuple[int, Value]]:
        """The members of an array by index, empty ones dropped; an index sent twice: the last wins."""
        found = dict(self._members.get(name, ()))
        return sorted(((i, v) for i, v in found.items() if v != ""), key=lambda member: member[0])

    def getlist(self, name: str) -> list[Value]:
        """All values of a name (the face that WTForms asks for)."""
        return [value for _, value in sorted(self._members.get(name, ()), key=lambda member: member[0])]

    def pairs(self) -> list[tuple[str, int, Value]]:
        """Everything, for a digest of the request."""
        return [(name, i, value) for name, members in self._members.items() for i, value in members]
