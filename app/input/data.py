"""Data of a request: names and their values, however the body was encoded."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

KEY = re.compile(r"(?P<name>[^\[\]]+)(?:\[(?P<index>[0-9]*)\])?", re.ASCII)
MAX_DIGITS = 18  # an index is only ever compared; int() of a text of any length is slow, or refuses it


@dataclass(frozen=True)
class Upload:
    """A file that was sent: its bytes and the name its sender gave it (never used as a path)."""

    filename: str
    content: bytes


@dataclass(frozen=True)
class Nested:
    """A value that fields of one value don't take: an object with its `fields`, or a list inside a list."""

    fields: RequestData | None = field(default=None, compare=False)


class JsonValue(str):
    """A value of a JSON body as text, where JSON says more than a form: fields of one text refuse these.

    `is_literal`: it was `true`, `false` or a number that is not whole. `is_member`: it stood in an array.
    """

    is_literal = False
    is_member = False


Value = str | Upload | Nested


class RequestData:
    """The fields of one request, in the order they came.

    `k`, repeated `k`, `k[]`, `k[0]`…`k[1]` and a JSON array mean the same: members of `k`. Those with an
    index are in its order; one without an index comes after the highest so far. Values are text as sent,
    never trimmed. The parser of the body leaves out an empty file part of a browser.
    """

    def __init__(self, pairs: Iterable[tuple[str, Value]] = ()) -> None:
        self._members: dict[str, dict[int, Value]] = {}
        self._next: dict[str, int] = {}
        self._last: dict[str, Value] = {}
        for key, value in pairs:
            self._add(key, value)

    def _add(self, key: str, value: Value) -> None:
        match = KEY.fullmatch(key)
        name = match["name"] if match else key
        index = written_index(match["index"]) if match and match["index"] else self._next.get(name, 0)
        self._members.setdefault(name, {})[index] = value
        self._next[name] = max(self._next.get(name, 0), index + 1)
        self._last[name] = value

    def __contains__(self, name: object) -> bool:
        return name in self._members

    def __iter__(self) -> Iterator[str]:
        return iter(self._members)

    def last(self, name: str) -> Value:
        """The value of a scalar: the last one sent wins."""
        return self._last[name]

    def text(self, name: str) -> str:
        """The text of a scalar; "" where none was sent, or a file."""
        found = self._last.get(name)
        return found if isinstance(found, str) else ""

    def members(self, name: str) -> list[tuple[int, Value]]:
        """The members of an array by index, without empty ones. Of an index sent twice the last wins."""
        return [(index, value) for index, value in self._sorted(name) if value != ""]

    def getlist(self, name: str) -> list[Value]:
        """All members of a name, empty ones too (the interface that WTForms needs)."""
        return [value for _, value in self._sorted(name)]

    def pairs(self) -> list[tuple[str, int, Value]]:
        """Every name, index and value, for a digest of the request."""
        return [(name, index, value) for name in self for index, value in self._sorted(name)]

    def renamed(self, names: Mapping[str, str]) -> RequestData:
        """The same under other names: each of `names` becomes what it maps to, unless that was sent too."""
        found = RequestData()
        for name in self:
            target = names.get(name, name)
            if target == name or target not in self:
                found._members[target] = self._members[name]
                found._last[target] = self._last[name]
        return found

    def grouped(self, name: str) -> RequestData:
        """The same with the fields `name.part` and `name[part]` as one object `name`, as JSON has it.

        Where `name` itself was sent, it stays as it is.
        """
        parts = {one: match[1] or match[2] for one in self if (match := part_pattern(name).fullmatch(one))}
        if not parts:
            return self
        found = RequestData()
        for one in self:
            if one not in parts:
                found._members[one], found._last[one] = self._members[one], self._last[one]
        if name not in found:
            pairs = [(parts[one], value) for one, _, value in self.pairs() if one in parts]
            found._members[name] = {0: Nested(RequestData(pairs))}
            found._last[name] = found._members[name][0]
        return found

    def _sorted(self, name: str) -> list[tuple[int, Value]]:
        return sorted(self._members.get(name, {}).items(), key=lambda member: member[0])


def part_pattern(name: str) -> re.Pattern[str]:
    """Names of the parts of an object in a form: `name.part`, `name[part]`, and with `[]` or an index."""
    return re.compile(rf"{re.escape(name)}(?:\.(\w+)|\[(\w+)\](?:\[[0-9]*\])?)", re.ASCII)


def written_index(digits: str) -> int:
    return int(digits.lstrip("0")[:MAX_DIGITS] or "0")
