"""Look-up of interned texts by id, and of ids by text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from sqlalchemy import Table, select

from app.analytics.interning import digest_text
from app.analytics.models import Term
from app.analytics.scope import BATCH_SIZE, Bind

TERMS = cast("Table", Term.__table__)


def texts_of(bind: Bind, ids: Iterable[int | None]) -> dict[int | None, str]:
    """The texts of these ids; none for 0 and None."""
    wanted = sorted({id_ for id_ in ids if id_})
    found: dict[int | None, str] = {}
    for start in range(0, len(wanted), BATCH_SIZE):
        some = TERMS.c.id.in_(wanted[start : start + BATCH_SIZE])
        rows = bind.execute(select(TERMS.c.id, TERMS.c.value).where(some))
        found.update({row.id: row.value for row in rows})
    return found


def numbers_of(bind: Bind, texts: Iterable[str]) -> dict[str, int]:
    """The ids of these texts. A text without one is in no click."""
    wanted = {digest_text(text): text for text in texts}
    rows = bind.execute(select(TERMS.c.id, TERMS.c.digest).where(TERMS.c.digest.in_(wanted)))
    return {wanted[row.digest]: row.id for row in rows}
