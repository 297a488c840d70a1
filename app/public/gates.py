"""How does a visitor pass a link's password or its warning?

A gate is a page with a form that goes back to the same address. Whoever passes is sent there once more (303),
with a signed cookie that says so; the visit itself is the GET that follows.
"""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import quote

from flask import Response, current_app, request

from app.accounts.hashing import GATE, Lane
from app.accounts.passwords import check_password
from app.bodies import MAX_SMALL_BYTES, read_sent
from app.cookies import secure_cookie
from app.errors import Busy, WaypostError
from app.failures import status_of
from app.public import answers
from app.throttles import Throttles, at_most, network_of
from app.visits import unlock
from app.visits.desk import Desk
from app.visits.facts import PASSWORD, WARNING, Facts
from app.visits.plan import Plan
from app.visits.visitor import Visitor

GATES = (PASSWORD, WARNING)
TRIES = at_most(10, minutes=10, name="link-password")
SAFE_IN_QUERY = "".join(map(chr, range(0x21, 0x7F)))


class Refused(Exception):
    """The gate stays shut: with this status and, by its name in the texts, for this reason."""

    def __init__(self, status: int, reason: str, seconds: int = 0) -> None:
        super().__init__(reason)
        self.status, self.reason, self.seconds = status, reason, seconds


def facts_of(desk: Desk, plan: Plan) -> Facts:
    """What `resolve` must know about this request besides. Raises StoreDown."""
    passed = frozenset(gate for gate in GATES if has_passed(desk, plan, gate))
    return Facts(desk.clicks(plan), passed)


def has_passed(desk: Desk, plan: Plan, gate: str) -> bool:
    # a browser sends every cookie of that name whose path fits
    return any(desk.unlock.opens(token, gate, plan) for token in request.cookies.getlist(name_of(gate)))


def name_of(gate: str) -> str:
    return secure_cookie(f"waypost_{gate}")


def has_form(plan: Plan) -> bool:
    """Whether the link has a gate, and so takes a POST."""
    return plan.password_hash is not None or plan.sensitive_content


def is_own_spelling(plan: Plan) -> bool:
    """A cookie's path is compared by letters, so there can be but one spelling that it comes with."""
    return bool(request.environ["PATH_INFO"] == f"/{plan.url}".encode().decode("latin-1"))


def to_own_spelling(plan: Plan) -> Response:
    return again(plan, HTTPStatus.FOUND)


def again(plan: Plan, status: int) -> Response:
    """To the link's own address once more, with the query that was sent."""
    query = quote(request.query_string, safe=SAFE_IN_QUERY)
    return answers.to(path_of(plan) + (f"?{query}" if query else ""), status)


def path_of(plan: Plan) -> str:
    return f"/{quote(plan.url, safe='~')}"


def passing(desk: Desk, plan: Plan, visitor: Visitor, gate: str) -> Response:
    """What a visitor's form at this gate gets (`gate` is the outcome without the form). Raises Refused."""
    password = sent_password()
    if plan.password_hash is not None and (gate == PASSWORD or password is not None):
        check(plan, visitor, password)
        return with_cookie(desk, plan, PASSWORD)
    if gate == WARNING:
        return with_cookie(desk, plan, WARNING)
    return again(plan, HTTPStatus.SEE_OTHER)  # sent twice: the way is open


def sent_password() -> str | None:
    try:
        sent = read_sent(MAX_SMALL_BYTES)
    except WaypostError as error:
        raise Refused(status_of(error), "unreadable") from error
    found = sent.last("password") if "password" in sent else None
    return found if isinstance(found, str) else None


def check(plan: Plan, visitor: Visitor, password: str | None) -> None:
    """Raises Refused, unless it is the right one and there were not too many tries."""
    if not password:
        raise Refused(HTTPStatus.FORBIDDEN, "missing")
    who = (network_of(visitor.address), str(plan.id))
    try:
        is_right = try_password(plan, who, password)
    except Busy as busy:
        raise Refused(HTTPStatus.SERVICE_UNAVAILABLE, "busy", busy.seconds) from None
    if not is_right:
        raise Refused(HTTPStatus.FORBIDDEN, "wrong")
    throttles().forgive(TRIES, *who)


def try_password(plan: Plan, who: tuple[str, str], password: str) -> bool:
    """Whether it is right. Counted before it is compared: as many at once as there may be in a row."""
    with GATE.reserve(Lane.VISITORS):
        if seconds := throttles().take(TRIES, *who):
            raise Refused(HTTPStatus.TOO_MANY_REQUESTS, "too_many", seconds)
        return check_password(plan.password_hash or "", password)


def throttles() -> Throttles:
    found: Throttles = current_app.extensions["throttles"]
    return found


def with_cookie(desk: Desk, plan: Plan, gate: str) -> Response:
    answer = again(plan, HTTPStatus.SEE_OTHER)
    answer.set_cookie(
        name_of(gate),
        desk.unlock.token(gate, plan),
        max_age=unlock.SECONDS,
        path=path_of(plan),
        secure=request.is_secure,
        httponly=True,
        samesite="Lax",
    )
    return answer
