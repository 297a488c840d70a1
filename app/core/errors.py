"""What can go wrong, in the words of the domain? (No HTTP here: each edge maps these.)"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class FieldError:
    """One thing wrong with one field. `code` is for programs, `title` for people."""

    title: str
    code: str
    field: str | None = None


class WaypostError(Exception):
    """What a caller did can't be done; `errors` says why, one entry a reason."""

    errors: Sequence[FieldError]

    def __init__(self, *errors: FieldError) -> None:
        super().__init__("; ".join(error.title for error in errors))
        self.errors = errors


class Malformed(WaypostError):
    """The request can't be read at all."""


class TooLarge(WaypostError):
    """The body, or one file in it, is larger than allowed."""


class UnreadableType(WaypostError):
    """The body is of a kind that nobody here reads."""


class NotThere(WaypostError):
    """No such thing, or not this user's: nobody can tell which."""

    def __init__(self, what: str) -> None:
        super().__init__(FieldError(f"There is no such {what}.", "not_found"))


class Invalid(WaypostError):
    """Values that break a rule, every one of them listed."""


class AliasTaken(WaypostError):
    """The short address belongs to another link already."""

    def __init__(self) -> None:
        super().__init__(FieldError("This short address is taken already.", "taken", "url"))


class Conflict(WaypostError):
    """Another request is changing the same thing at this moment."""


class NoKey(WaypostError):
    """Nobody who is known here: no key, or none that is good."""


class Forbidden(WaypostError):
    """Known, but not allowed to do this."""


class Waiting(WaypostError):
    """Not now, but in so many `seconds`."""

    def __init__(self, seconds: int, *errors: FieldError) -> None:
        super().__init__(*errors)
        self.seconds = seconds


class TooMany(Waiting):
    """More requests or tries than are allowed in a time."""


class Busy(Waiting):
    """More of the same kind of work than this process takes at once."""


class StillRunning(Waiting, Conflict):
    """The same request was sent before and has not been answered yet."""


class InUse(WaypostError):
    """Something can't be deleted while other things need it."""
