"""Shared statistics: pages for people without an account, found by a secret token, and their embedded form.

They have a blueprint of their own, without sign-in: no session is read or written. The only cookie says that
the share's password was typed. Small counts are merged.
"""

# see docs/decisions/2026-11-24-shared-statistics.md
from __future__ import annotations

import datetime as dt
import hashlib
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple

from flask import Blueprint, Flask, Response, g, make_response, redirect, render_template, request, url_for
from flask.typing import ResponseReturnValue
from itsdangerous import BadSignature

from app.accounts.access import VIEWER, Access
from app.accounts.hashing import GATE, HashPriority
from app.accounts.passwords import check_password
from app.analytics.sharing import services
from app.analytics.sharing.forms import CUSTOM, PARTS
from app.analytics.sharing.models import StatisticsShare
from app.analytics.statistics import make_report
from app.core import clock
from app.core.database import begin_read
from app.core.errors import Busy, RateLimited, RetryLater, WaypostError
from app.core.extensions import csrf, db, login
from app.core.secret_keys.timed_tokens import TimedTokens
from app.dashboard.shared.page_headers import PAGE, POLICY
from app.dashboard.shared.rendering import THEMES
from app.dashboard.statistics import figures
from app.dashboard.statistics.lists import overview
from app.dashboard.statistics.periods import Span
from app.dashboard.statistics.scopes import PageScope, all_links_scope, of_link, of_project
from app.dashboard.statistics.state import METRICS, OFF, PageState
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.rate_limit.limiter import at_most, network_of
from app.web.application import rate_limiter
from app.web.body import MAX_SMALL_BYTES, read_params, read_sent
from app.web.security_headers import secure_cookie

ROWS = 20
LOOKED_AT = 500  # values of which rows are chosen


class SharedRow(NamedTuple):
    """A line of a breakdown."""

    word: str
    pageviews: int
    visitors: int
    share: str
    length: float


class SharedList(NamedTuple):
    """A breakdown. `others`: the clicks on all values that have no row, small ones and those beyond."""

    dimension: str
    title: str
    head: str
    rows: list[SharedRow]
    others: int
    share_of_others: str


def shared_context(share: StatisticsShare, metric: str) -> dict[str, Any]:
    """Context of the page, and of its embedded form."""
    scope = scope_of(share)
    state = state_of_page(share, scope, metric)
    return {
        "state": state,
        "zone": scope.zone,
        "metrics": METRICS,
        "span_words": figures.span_words,
        "lists": [shared_list(share, scope, state, name) for name in PARTS if name in share.parts],
        "now": clock.now(),
        "picture_file": figures.file_name(share.name, state.span),
        **overview(scope, state),
    }


def scope_of(share: StatisticsShare) -> PageScope:
    """What is shown, without the link or project itself: nothing of these may be on the page."""
    access = Access(share.user, share.workspace_id, VIEWER)
    if share.link_id is not None:
        base = of_link(access, share.link_id)
    elif share.project_id is not None:
        base = of_project(access, share.project_id)
    else:
        base = all_links_scope(access)
    return PageScope(access, "", share.name, base.since, base.id, base.link_ids)


def state_of_page(share: StatisticsShare, scope: PageScope, metric: str) -> PageState:
    today = clock.now().astimezone(scope.zone).date()
    custom = None
    if share.period == CUSTOM and share.start_date and share.end_date:
        start, end = dt.date.fromisoformat(share.start_date), dt.date.fromisoformat(share.end_date)
        custom = Span(min(start, today), min(end, today))
    return PageState(
        today=today,
        first=scope.first(scope.zone),
        period=share.period,
        custom=custom,
        compare=OFF,
        views={"metric": metric} if metric in METRICS else {},
    )


def shared_list(share: StatisticsShare, scope: PageScope, state: PageState, name: str) -> SharedList:
    """Rows of values with at least `share.least` visitors; all other clicks are one sum."""
    asked = scope.statistics_query(state, name, limit=LOOKED_AT)
    found = make_report(db.session, asked)
    kept = [row for row in found.rows if row["visitors"] >= share.least][:ROWS]
    most = max([row["pageviews"] for row in kept], default=0)
    others = found.pageviews - sum(row["pageviews"] for row in kept)
    rows = [
        SharedRow(
            figures.word(name, row[name]),
            row["pageviews"],
            row["visitors"],
            figures.share(row["pageviews"], found.pageviews),
            figures.length(row["pageviews"], most),
        )
        for row in kept
    ]
    title, head = figures.WORDS[name].many, figures.WORDS[name].one
    return SharedList(name, title, head, rows, others, figures.share(others, found.pageviews))


PASSED_SECONDS = 12 * 3600
PASSED = TimedTokens("waypost: the password of shared statistics was typed", PASSED_SECONDS)
COOKIE = "waypost_shared"
UNKNOWN = at_most(60, minutes=10, name="share-unknown")
VIEWS = at_most(240, minutes=1, name="share-views")
TRIES = at_most(10, minutes=10, name="share-password")
WRONG = _l("This is not the password.")
TOO_MANY = _l("Too many attempts. Wait a few minutes, then try again.")
BUSY = _l("Too many passwords are being checked at this moment. Try again in a few seconds.")

blueprint = Blueprint("shared", __name__, url_prefix="/dashboard/shared")

View = Callable[[StatisticsShare, str], Response]


def init_app(app: Flask) -> None:
    csrf.exempt(blueprint)  # a password unlocks a page and changes nothing, and there is no session to abuse
    app.register_blueprint(blueprint)


@blueprint.before_request
def read_no_session() -> None:
    """Nobody is signed in here: the pages are the same for everybody, and no template loads a session."""
    g._login_user = login.anonymous_user()  # noqa: SLF001  where Flask-Login keeps the user of a request


@blueprint.get("/<token>")
def show(token: str) -> ResponseReturnValue:
    return with_share(token, show_page)


@blueprint.get("/<token>/embed")
def embed(token: str) -> ResponseReturnValue:
    return with_share(token, show_embedded)


@blueprint.post("/<token>")
def unlock(token: str) -> ResponseReturnValue:
    return with_share(token, check)


def with_share(token: str, view: View) -> Response:
    """The view's answer, if the token is that of a share address that works. Bad tokens are counted."""
    network = network_of(request.remote_addr or "")
    share = services.find(token)
    if share is None:
        seconds = rate_limiter().take(UNKNOWN, network) if services.SHAPE.fullmatch(token) else 0
        return wait(seconds) if seconds else over(HTTPStatus.NOT_FOUND)
    state = services.state_of(share)
    if state != "active":
        return over(HTTPStatus.NOT_FOUND if state == "closed" else HTTPStatus.GONE)
    window = rate_limiter().count_request(VIEWS, network, str(share.id))
    return wait(window.seconds) if window.is_over else view(share, token)


def show_page(share: StatisticsShare, token: str) -> Response:
    if share.password_hash is not None and not has_passed(share):
        return ask_password(token)
    return render_statistics(share, "page", address=url_for("shared.show", token=token))


def show_embedded(share: StatisticsShare, token: str) -> Response:
    """The small page for a frame. A password is never asked for in one, where it could be anybody's page."""
    if not share.is_embeddable or share.password_hash is not None:
        return over(HTTPStatus.NOT_FOUND)
    response = render_statistics(share, "embed", address=url_for("shared.embed", token=token))
    policy = POLICY | {"form-action": "'none'", "frame-ancestors": " ".join(share.embed_hosts) or "*"}
    named = "; ".join(f"{name} {value}" for name, value in policy.items())
    response.headers["Content-Security-Policy"] = named
    return response


def render_statistics(share: StatisticsShare, name: str, address: str) -> Response:
    params = read_params()
    begin_read(db.session)
    context = shared_context(share, params.get("metric", ""))
    response = render(name, HTTPStatus.OK, share=share, address=address, **context)
    if request.method == "GET":
        share_id = share.id
        db.session.rollback()  # the use is written on another connection, and must not wait for this read
        services.note_use(share_id)
    return response


def check(share: StatisticsShare, token: str) -> Response:
    """The answer to the form: the page, or the form again with what is wrong."""
    here = url_for("shared.show", token=token)
    if share.password_hash is None:
        return make_response(redirect(here, HTTPStatus.SEE_OTHER))
    try:
        if not is_right(share, share.password_hash, sent_password()):
            return ask_password(token, HTTPStatus.FORBIDDEN, WRONG)
    except Busy as busy:
        return ask_password(token, HTTPStatus.SERVICE_UNAVAILABLE, BUSY, busy.seconds)
    except RetryLater as later:
        return ask_password(token, HTTPStatus.TOO_MANY_REQUESTS, TOO_MANY, later.seconds)
    answer = make_response(redirect(here, HTTPStatus.SEE_OTHER))
    answer.set_cookie(
        secure_cookie(COOKIE),
        PASSED.sign(bound_to(share)),
        max_age=PASSED_SECONDS,
        path=here,
        secure=request.is_secure,
        httponly=True,
        samesite="Lax",
    )
    return answer


def sent_password() -> str:
    try:
        return read_sent(MAX_SMALL_BYTES).text("password")
    except WaypostError:
        return ""  # a broken body holds no password


def is_right(share: StatisticsShare, password_hash: str, password: str) -> bool:
    """Whether the password is right. Counted before it is compared. Raises Busy, which counts as no try,
    and RateLimited."""
    who = (network_of(request.remote_addr or ""), str(share.id))
    if not password:
        return False
    with GATE.reserve(HashPriority.VISITORS):
        if seconds := rate_limiter().take(TRIES, *who):
            raise RateLimited(seconds)
        try:
            found = check_password(password_hash, password)
        except Busy:
            rate_limiter().give_back(TRIES, *who)
            raise
    if found:
        rate_limiter().reset(TRIES, *who)
    return found


def has_passed(share: StatisticsShare) -> bool:
    for text in request.cookies.getlist(secure_cookie(COOKIE)):
        try:
            if PASSED.read(text) == bound_to(share):
                return True
        except BadSignature:
            continue
    return False


def bound_to(share: StatisticsShare) -> list[Any]:
    """What a cookie opens: this address with this password. The salted hash is another one after each setting
    of a password, also of the same one."""
    version = hashlib.sha256((share.password_hash or "").encode()).hexdigest()
    return [share.id, share.digest[:16], version]


def ask_password(token: str, status: int = HTTPStatus.OK, problem: str = "", seconds: int = 0) -> Response:
    """The form; the share's name is not shown before the password is typed."""
    response = render("password", status, problem=problem, address=url_for("shared.show", token=token))
    if seconds:
        response.headers["Retry-After"] = str(seconds)
    return response


def over(status: int) -> Response:
    """The page of an address that shows nothing: unknown (404), or ended (410)."""
    return render("over", status, is_ended=status == HTTPStatus.GONE)


def wait(seconds: int) -> Response:
    response = render("over", HTTPStatus.TOO_MANY_REQUESTS, is_busy=True)
    response.headers["Retry-After"] = str(seconds)
    return response


def render(name: str, status: int, **context: Any) -> Response:
    """A page in the colours that `theme` names, else the reader's system's."""
    theme = read_params().get("theme", "")
    theme = theme if theme in THEMES else ""
    body = render_template(
        f"shared/{name}.html", **{**context, "theme": theme, "site_title": _("Statistics")}
    )
    response = make_response(body, status)
    # a page of an embedded address is framed by nobody unless it says so itself
    response.headers.update({name: value for name, value in PAGE.items() if name != "Referrer-Policy"})
    response.headers["Referrer-Policy"] = "no-referrer"
    return response
