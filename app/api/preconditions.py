"""Entity tags of rows, and the conditions of a request on them (RFC 9110, sections 8.8.3 and 13)."""

# see docs/decisions/2026-11-25-entity-tags.md
from __future__ import annotations

import json
import re
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any, NamedTuple

from flask import request

from app.core.errors import FieldError, PreconditionFailed
from app.web.body import malformed

# what visitors change: with it in the tag, no `If-Match` on a link in use would ever hold
NOT_COVERED = frozenset({"clicks"})
# one member of a list and its comma; RFC 9110, section 5.6.1, lets a member be empty
MEMBER = re.compile(r'[ \t]*(?:(?P<weak>W/)?(?P<opaque>"[!#-~\x80-\xff]*")[ \t]*)?(?:,|\Z)')


def entity_tag(shown: Mapping[str, Any], hidden: object = None) -> str:
    """The strong tag of a row as this caller sees it. `hidden`: state that no answer shows."""
    covered = {name: value for name, value in shown.items() if name not in NOT_COVERED}
    text = json.dumps([covered, hidden], sort_keys=True)
    return f'"{blake2b(text.encode(), digest_size=16).hexdigest()}"'


class TagList(NamedTuple):
    """The tags of one condition. `is_any`: it was `*`, which any state meets."""

    is_any: bool
    strong: frozenset[str]
    weak: frozenset[str]

    def matches(self, tag: str) -> bool:
        """The strong comparison, for which a weak tag equals none."""
        return self.is_any or tag in self.strong

    def matches_weakly(self, tag: str) -> bool:
        return self.matches(tag) or tag in self.weak


class Conditions(NamedTuple):
    """The conditions of one request; None where it has none."""

    if_match: TagList | None
    if_none_match: TagList | None

    @property
    def is_empty(self) -> bool:
        return self.if_match is None and self.if_none_match is None

    def require_match(self, tag: str) -> None:
        """Raises PreconditionFailed where `If-Match` names other states."""
        if self.if_match is not None and not self.if_match.matches(tag):
            raise failed()

    def require(self, tag: str) -> None:
        """The same before a write, which `If-None-Match` can forbid, too."""
        self.require_match(tag)
        if self.is_known(tag):
            raise failed()

    def is_known(self, tag: str) -> bool:
        """Whether `If-None-Match` names this state: the caller has it already."""
        return self.if_none_match is not None and self.if_none_match.matches_weakly(tag)


def failed() -> PreconditionFailed:
    text = "It was changed since you read it: its ETag is another one now. Read it again."
    return PreconditionFailed(FieldError(text, "precondition_failed"))


def read_conditions() -> Conditions:
    """The conditions of this request. Raises Malformed: one that can't be read must not count as met."""
    return Conditions(read_tags("If-Match"), read_tags("If-None-Match"))


def read_tags(header: str) -> TagList | None:
    lines = request.headers.getlist(header)
    return parse_tags(header, ",".join(lines)) if lines else None


def parse_tags(header: str, text: str) -> TagList:
    """`*`, or a list of tags. Raises Malformed."""
    if text.strip(" \t") == "*":
        return TagList(True, frozenset(), frozenset())
    found: dict[bool, set[str]] = {False: set(), True: set()}
    place = 0
    while place < len(text):
        member = MEMBER.match(text, place)
        if member is None:
            raise malformed(f'{header} is * or a list of entity tags, such as "0a1b".')
        if member["opaque"]:
            found[member["weak"] is not None].add(member["opaque"])
        place = member.end()
    return TagList(False, frozenset(found[False]), frozenset(found[True]))
