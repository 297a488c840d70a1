"""Which texts do numbers stand for, and which numbers do texts have?"""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from sqlalchemy import Table, select

from app.clicks.models import Term
from app.clicks.scope import AT_ONCE, Bind
from app.clicks.terms import digest

TERMS = cast("Table", Term.__table__)


def texts_of(bind: Bind, ids: Iterable[int | None]) -> dict[int | None, str]:
    """The texts of these numbers; none for 0 and None."""
    wanted = sorted({id_ for id_ in ids if id_})
    found: dict[int | None, str] = {}
    for start in range(0, len(wanted), AT_ONCE):
        some = TERMS.c.id.in_(wanted[start : start + AT_ONCE])
        rows = bind.execute(select(TERMS.c.id, TERMS.c.value).where(some))
        found.update({row.id: row.value for row in rows})
    return found


def numbers_of(bind: Bind, texts: Iterable[str]) -> dict[str, int]:
    """The numbers of these texts; nobody ever said one that has none."""
    wanted = {digest(text): text for text in texts}
    rows = bind.execute(select(TERMS.c.id, TERMS.c.digest).where(TERMS.c.digest.in_(wanted)))
    return {wanted[row.digest]: row.id for row in rows}
