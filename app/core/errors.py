"""Errors of the domain. They know nothing of HTTP: each edge maps them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.i18n.messages import in_english
from app.i18n.messages import lazy_gettext as _l


@dataclass(frozen=True)
class FieldError:
    """One thing wrong with one field. `code` is for programs, `title` for people."""

    title: str
    code: str
    field: str | None = None


class WaypostError(Exception):
    """A request that can't be carried out. `errors` says why, one entry for each reason."""

    errors: Sequence[FieldError]

    def __init__(self, *errors: FieldError) -> None:
        super().__init__(*errors)
        self.errors = errors

    def __str__(self) -> str:
        """The reasons, for the log and for commands. Pages and the API word each entry by itself."""
        return "; ".join(in_english(error.title) for error in self.errors)


class Malformed(WaypostError):
    """The request can't be read at all."""


class TooLarge(WaypostError):
    """The body, or one file in it, is larger than allowed."""


class UnsupportedMediaType(WaypostError):
    """The body is of a content type that is not supported."""


class NotFound(WaypostError):
    """No such row, or another user's. The error does not tell which."""

    def __init__(self, what: str) -> None:
        super().__init__(FieldError(_l("There is no such %(what)s.", what=what), "not_found"))


class Gone(WaypostError):
    """What was asked for is kept no more. `facts` says with what a program can go on."""

    def __init__(self, facts: Mapping[str, str], *errors: FieldError) -> None:
        super().__init__(*errors)
        self.facts = facts


class Invalid(WaypostError):
    """Values that break a rule. Every one of them is listed."""


class AliasTaken(WaypostError):
    """The alias belongs to another link already."""

    def __init__(self) -> None:
        super().__init__(FieldError(_l("This short link is taken already."), "taken", "url"))


class Conflict(WaypostError):
    """Another request is changing the same thing at this moment."""


class PreconditionFailed(WaypostError):
    """The row is not in the state that the caller named."""


class Unauthorized(WaypostError):
    """No API key, or an invalid one."""


class Forbidden(WaypostError):
    """An authenticated caller who is not allowed to do this."""


class RetryLater(WaypostError):
    """The request may succeed when it is repeated after `seconds`."""

    def __init__(self, seconds: int, *errors: FieldError) -> None:
        super().__init__(*errors)
        self.seconds = seconds


class RateLimited(RetryLater):
    """More requests or tries than a rate limit allows."""


class Busy(RetryLater):
    """More of the same kind of work than this process takes at once."""


class RequestInProgress(RetryLater, Conflict):
    """The same request was sent before and has not been answered yet."""


class ResourceInUse(WaypostError):
    """Something can't be deleted while other things need it."""


class StoreDown(Exception):
    """The database gives no answer now."""
