"""State of a link and a visitor that decides about a visit, beside the request and the time."""

from __future__ import annotations

from typing import NamedTuple

PASSWORD, WARNING, CONFIRMATION = "password", "warning", "confirmation"


class LinkState(NamedTuple):
    """What is looked up before `resolve` is called, so that it need not look anything up.

    `clicks`: the link's clicks so far; None if not looked up, with which a limited link is unavailable.
    `unlocked`: which of PASSWORD, WARNING and CONFIRMATION this visitor has passed already. `agreed`: the
    visitor's answer about pixels; None if not asked.
    """

    clicks: int | None = None
    unlocked: frozenset[str] = frozenset()
    agreed: bool | None = None


NOTHING_KNOWN = LinkState()
