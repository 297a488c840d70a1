"""Errors of the client: one class for each status of the API, with the API's own codes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any


class WaypostError(Exception):
    """Anything that a call can fail with."""


class ConnectionFailed(WaypostError):
    """The server was not reached, or the connection broke before it answered."""


class UnreadableAnswer(WaypostError):
    """The answer is not what the API sends: another program may answer at this address."""


class SignatureInvalid(WaypostError):
    """A webhook's call that was not signed with the secret, or not just now."""


@dataclass(frozen=True, kw_only=True)
class ErrorEntry:
    """One thing that is wrong. `code` is for programs, `title` for people. `field` may be empty."""

    title: str
    code: str
    status: int
    field: str = ""


class ApiError(WaypostError):
    """An error that the API answered with. `errors` lists all that is wrong, every bad field at once."""

    def __init__(
        self,
        status: int,
        detail: str,
        errors: Sequence[ErrorEntry] = (),
        *,
        retry_after: float | None = None,
        request_id: str = "",
    ) -> None:
        super().__init__(detail)
        self.status, self.detail, self.errors = status, detail, tuple(errors)
        self.retry_after, self.request_id = retry_after, request_id

    @property
    def codes(self) -> frozenset[str]:
        return frozenset(entry.code for entry in self.errors)

    def by_field(self) -> dict[str, list[ErrorEntry]]:
        """The entries by their field; those about no field under the empty name."""
        found: dict[str, list[ErrorEntry]] = {}
        for entry in self.errors:
            found.setdefault(entry.field, []).append(entry)
        return found

    def __str__(self) -> str:
        if not self.errors:
            return self.detail
        return "\n".join(
            f"{entry.field}: {entry.title}" if entry.field else entry.title for entry in self.errors
        )


class NotModified(ApiError):
    """304: it is still in the state that `if_none_match` names."""


class Malformed(ApiError):
    """400: the request can't be read."""


class Unauthorized(ApiError):
    """401: no API key, or one that is wrong, revoked or expired."""


class Forbidden(ApiError):
    """403: the key may only read, or its person may not do this."""


class NotFound(ApiError):
    """404: it does not exist, or it is somebody else's."""


class Conflict(ApiError):
    """409: it conflicts with what exists, such as an alias that is taken."""


class Gone(ApiError):
    """410: it was there, and is no more."""


class PreconditionFailed(ApiError):
    """412: it was changed since it was read."""


class TooLarge(ApiError):
    """413: the request, or a file in it, is too large."""


class Invalid(ApiError):
    """422: values break a rule."""


class RateLimited(ApiError):
    """429: too many requests; `retry_after` says for how many seconds."""


class ServerFailed(ApiError):
    """5xx: the server could not do it."""


class Unavailable(ServerFailed):
    """503: the server can't do it now."""


class NoSpace(ServerFailed):
    """507: the server has no space left."""


BY_STATUS: Mapping[int, type[ApiError]] = {
    304: NotModified,
    400: Malformed,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    412: PreconditionFailed,
    413: TooLarge,
    422: Invalid,
    429: RateLimited,
    503: Unavailable,
    507: NoSpace,
}


def read_problem(status: int, problem: Any, **about: Any) -> ApiError:
    """The error for an answer's status and its parsed body, which need not be one of the API's."""
    kind = BY_STATUS.get(status, ServerFailed if status >= 500 else ApiError)
    if not isinstance(problem, dict):
        return kind(status, f"The server answered with status {status}.", **about)
    entries = [
        ErrorEntry(
            title=str(entry.get("title", "")),
            code=str(entry.get("code", "")),
            status=int(entry.get("status", status)),
            field=str(entry.get("field", "")),
        )
        for entry in problem.get("errors") or ()
        if isinstance(entry, dict)
    ]
    detail = problem.get("detail") or problem.get("title") or f"The server answered with status {status}."
    return kind(status, str(detail), entries, **about)
