"""The password and the warning of a link: checks of their forms, and the cookies of visitors who passed.

A gate is a page with a form that is sent to the same address. A visitor who passes is redirected there again
(303), with a signed cookie. The GET that follows is the click.
"""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote

from flask import Response, request

from app.accounts.hashing import GATE, HashPriority
from app.accounts.passwords import check_password
from app.core.errors import Busy, WaypostError
from app.public import answers
from app.rate_limit.limiter import at_most, network_of
from app.redirects import gate_cookies, request_context
from app.redirects.compiled_link import CompiledLink
from app.redirects.context import RedirectContext
from app.redirects.state import PASSWORD, WARNING, LinkState
from app.redirects.visitor import Visitor
from app.web.application import rate_limiter
from app.web.body import MAX_SMALL_BYTES, read_sent
from app.web.errors import status_of
from app.web.security_headers import secure_cookie

GATES = (PASSWORD, WARNING)
TRIES = at_most(10, minutes=10, name="link-password")


class GateRefused(Exception):
    """The visitor may not pass. `reason` is the name of a text, `seconds` the time to wait."""

    def __init__(self, status: int, reason: str, seconds: int = 0) -> None:
        super().__init__(reason)
        self.status, self.reason, self.seconds = status, reason, seconds


def facts_of(redirect_context: RedirectContext, compiled_link: CompiledLink) -> LinkState:
    """The link's state for `resolve`: its clicks, and the gates that the visitor has passed.

    Raises StoreDown.
    """
    passed = frozenset(gate for gate in GATES if has_passed(redirect_context, compiled_link, gate))
    return LinkState(redirect_context.clicks(compiled_link), passed)


def has_passed(redirect_context: RedirectContext, compiled_link: CompiledLink, gate: str) -> bool:
    # a browser sends every cookie of this name whose path matches
    return any(
        redirect_context.unlock.opens(token, gate, compiled_link)
        for token in request.cookies.getlist(name_of(gate))
    )


def name_of(gate: str) -> str:
    return secure_cookie(f"waypost_{gate}")


def has_form(compiled_link: CompiledLink) -> bool:
    """Whether the link has a gate, and so accepts a POST."""
    return compiled_link.password_hash is not None or compiled_link.sensitive_content


def is_own_spelling(compiled_link: CompiledLink) -> bool:
    """Whether the request's path is spelled as the link's own.

    Browsers compare a cookie's path literally, so the gate's cookie comes with one spelling only.
    """
    return bool(request.environ["PATH_INFO"] == f"/{compiled_link.url}".encode().decode("latin-1"))


def to_own_spelling(compiled_link: CompiledLink) -> Response:
    return redirect_to_itself(compiled_link, HTTPStatus.FOUND)


def redirect_to_itself(compiled_link: CompiledLink, status: int) -> Response:
    """A redirect to the link itself, with the query of this request."""
    query = request_context.query()
    return answers.to(path_of(compiled_link) + (f"?{query}" if query else ""), status)


def path_of(compiled_link: CompiledLink) -> str:
    return f"/{quote(compiled_link.url, safe='/~')}"


def passing(
    redirect_context: RedirectContext, compiled_link: CompiledLink, visitor: Visitor, gate: str
) -> Response:
    """The response to a gate's form. `gate` is the outcome without the form. Raises GateRefused."""
    password = sent_password()
    if compiled_link.password_hash is not None and (gate == PASSWORD or password is not None):
        check(compiled_link, visitor, password)
        return with_cookie(redirect_context, compiled_link, PASSWORD)
    if gate == WARNING:
        return with_cookie(redirect_context, compiled_link, WARNING)
    return redirect_to_itself(
        compiled_link, HTTPStatus.SEE_OTHER
    )  # the form was sent twice: the gate is passed already


def sent_password() -> str | None:
    """The password of the form; None where the form of the warning was sent, which has no such field."""
    try:
        sent = read_sent(MAX_SMALL_BYTES)
    except WaypostError as error:
        raise GateRefused(status_of(error), "unreadable") from error
    return sent.text("password") if "password" in sent else None


def check(compiled_link: CompiledLink, visitor: Visitor, password: str | None) -> None:
    """Raises GateRefused unless the password is right and there were not too many attempts."""
    if not password:
        raise GateRefused(HTTPStatus.FORBIDDEN, "missing")
    who = (network_of(visitor.address), str(compiled_link.id))
    try:
        is_right = try_password(compiled_link, who, password)
    except Busy as busy:
        raise GateRefused(HTTPStatus.SERVICE_UNAVAILABLE, "busy", busy.seconds) from None
    if not is_right:
        raise GateRefused(HTTPStatus.FORBIDDEN, "wrong")
    rate_limiter().reset(TRIES, *who)


def try_password(compiled_link: CompiledLink, who: tuple[str, str], password: str) -> bool:
    """Whether the password is right.

    The attempt is counted before the comparison, so that concurrent ones can't exceed the limit. Raises Busy
    where it was not compared, and then does not count it.
    """
    with GATE.reserve(HashPriority.VISITORS):
        if seconds := rate_limiter().take(TRIES, *who):
            raise GateRefused(HTTPStatus.TOO_MANY_REQUESTS, "too_many", seconds)
        try:
            return check_password(compiled_link.password_hash or "", password)
        except Busy:
            rate_limiter().give_back(TRIES, *who)
            raise


def with_cookie(redirect_context: RedirectContext, compiled_link: CompiledLink, gate: str) -> Response:
    answer = redirect_to_itself(compiled_link, HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        name_of(gate),
        redirect_context.unlock.token(gate, compiled_link),
        max_age=gate_cookies.SECONDS,
        path=path_of(compiled_link),
        secure=request.is_secure,
        httponly=True,
        samesite="Lax",
    )
    return answer
