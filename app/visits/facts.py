"""What decides about a visit beside the link, the request and the time?"""

from __future__ import annotations

from typing import NamedTuple

PASSWORD, WARNING = "password", "warning"


class Facts(NamedTuple):
    """What was found out before `resolve` is asked, so that it need not look anything up.

    `clicks`: how often the link was opened so far; None where nobody asked, which a limited link takes for
    a no. `unlocked`: which of PASSWORD and WARNING this visitor has passed already.
    """

    clicks: int | None = None
    unlocked: frozenset[str] = frozenset()


NOTHING_KNOWN = Facts()
