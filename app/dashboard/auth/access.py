"""Guards of the dashboard: a signed-in user, and writes that come from its own pages."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import Flask, Response, abort, after_this_request, redirect, request, url_for
from flask.typing import ResponseReturnValue
from flask_login import current_user
from flask_wtf.csrf import generate_csrf, validate_csrf
from werkzeug.exceptions import Unauthorized
from wtforms import ValidationError

from app.accounts.models import User
from app.core.actor import Actor, act_as
from app.core.errors import FieldError, Forbidden
from app.core.extensions import db
from app.core.urls import split_address
from app.dashboard.shared import workspace
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.rendering import is_fragment
from app.i18n.messages import lazy_gettext as _l
from app.input.data import RequestData
from app.notifications.security_email import SecurityMail
from app.web.application import settings
from app.web.body import MAX_BYTES, MAX_SMALL_BYTES, read_sent

SAFE = {"GET", "HEAD", "OPTIONS"}
TOKEN_HEADER = "X-CSRFToken"  # noqa: S105  a header's name
ACCOUNT_HEADER = "X-Account"
# the body may be larger than memory: imports/upload.py checks the token before it takes the file
STREAMED = {"dashboard.imports_write"}
# the colour scheme: needs no session, and there is nothing to protect
FOR_ALL = {"dashboard.theme"}


def init_app(app: Flask) -> None:
    # the extension would parse the body before app/web/body.py has looked at it; `require_own_write` checks
    app.config["WTF_CSRF_CHECK_DEFAULT"] = False
    app.config["WTF_CSRF_TIME_LIMIT"] = None  # a token lives as long as its session


class SignedOut(Unauthorized):
    """The request needs a signed-in user, and is no page that the sign-in could lead back to."""

    def __init__(self) -> None:
        super().__init__(_l("You are signed out. Sign in again in another tab, then send this once more."))


@blueprint.before_request
def require_user() -> ResponseReturnValue | None:
    """Let signed-in users pass. Others are redirected to the sign-in page, and come back from there."""
    if request.endpoint in FOR_ALL:
        return None
    if current_user.is_authenticated:
        require_own_write()
        act_as(actor_of(signed_in_user()))
        return workspace.enter()
    if is_fragment() or request.method not in SAFE:
        raise SignedOut
    return redirect(url_for("accounts.login", next=request.full_path.rstrip("?")))


def actor_of(user: User) -> Actor:
    return Actor("dashboard", user.name or user.email, user.id, user.email)


def require_own_write() -> None:
    """Require that a write comes from a page of this origin and carries the session's token."""
    if request.method in SAFE:
        return
    require_same_origin()
    if request.endpoint not in STREAMED:
        require_token(token_of(submitted_form()))


def require_token(token: str | None) -> None:
    """Raises Forbidden for anything but the session's own CSRF token."""
    try:
        validate_csrf(token)
    except ValidationError:
        after_this_request(with_fresh_token)
        raise Forbidden(
            FieldError(_l("This page is from an earlier session. Send it once more."), "stale")
        ) from None


def require_same_origin() -> None:
    """Refuse what the browser marks as cross-site. Old browsers send no such header: the token decides."""
    site = request.headers.get("Sec-Fetch-Site", "same-origin")
    origin = request.headers.get("Origin", request.host_url)
    if site not in {"same-origin", "none"} or split_address(origin).netloc != request.host:
        raise Forbidden(FieldError(_l("This was sent from another site."), "cross_site"))


def submitted_form() -> RequestData:
    """The fields of this request. Without a signed-in user the body must be small."""
    return read_sent(MAX_BYTES if current_user.is_authenticated else MAX_SMALL_BYTES)


def is_shown_again() -> bool:
    """Whether the form is to be shown with what was sent, and nothing is to be saved yet."""
    return "again" in submitted_form()


def token_of(fields: RequestData) -> str | None:
    return fields.text("csrf_token") if "csrf_token" in fields else request.headers.get(TOKEN_HEADER)


def with_fresh_token(response: Response) -> Response:
    """Add a token for the page's script to try again with. Only a script of this origin can read it."""
    response.headers[TOKEN_HEADER] = str(generate_csrf())
    if current_user.is_authenticated:  # the page of another account must not go on with it
        response.headers[ACCOUNT_HEADER] = str(signed_in_user().id)
    return response


def signed_in_user() -> User:
    """The signed-in user."""
    found: User = current_user
    return found


View = Callable[..., ResponseReturnValue]


def admins_only(view: View) -> View:
    @wraps(view)
    def guarded(**values: Any) -> ResponseReturnValue:
        if not signed_in_user().is_admin:
            abort(404)
        return view(**values)

    return guarded


def current_security_mail() -> SecurityMail:
    return SecurityMail(db.session, settings())


def has_mail() -> bool:
    return bool(settings().smtp_url)
