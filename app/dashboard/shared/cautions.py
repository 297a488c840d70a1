"""Cautions: what a form says before it saves something that surprises, and asks about once.

A caution has a token. A form that was sent with the token was seen with the caution: it is saved. With
JavaScript the caution stands in the form while it is filled in; without, the answer has it.
"""

# see docs/decisions/2026-11-24-asked-once.md
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flask import request

from app.dashboard.auth.access import submitted_form
from app.input.forms import ResourceForm

AGREED = "agreed"


class Caution(NamedTuple):
    """What is said at a field. `agree`: the words of the box to tick; "": to save again is enough."""

    token: str
    field: str
    lines: Sequence[str]
    agree: str = ""

    @property
    def is_agreed(self) -> bool:
        return self.token in agreed()


def agreed() -> frozenset[str]:
    """The tokens that came with the form."""
    values = submitted_form().getlist(AGREED) if request.method == "POST" else ()
    return frozenset(value for value in values if isinstance(value, str))


def asks(cautions: Sequence[Caution]) -> bool:
    """Whether the page must ask before anything is written."""
    return any(not one.is_agreed for one in cautions)


def asks_about(form: ResourceForm, cautions: Sequence[Caution]) -> bool:
    """The same for a form, which then is shown as one that asks."""
    form.is_asked = asks(cautions)
    return form.is_asked
