"""Asks for the password again before keys, exports and deletions.

An open session alone is not enough for them when the password was last typed over ten minutes ago: forms then
have one more field, and downloads a page before them. A passkey that knows its user is worth a password.
See docs/decisions/2026-11-22-password-again.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import wraps
from typing import Any

from flask import Response, abort, g, make_response, render_template, request, url_for
from flask.typing import ResponseReturnValue
from itsdangerous import BadSignature
from markupsafe import Markup

from app.accounts.forms import PasswordAgainForm
from app.core.errors import FieldError, Forbidden
from app.core.secret_keys.timed_tokens import TimedTokens
from app.core.urls import split_address
from app.dashboard.auth import proofs
from app.dashboard.auth.access import SAFE, signed_in_user, submitted_form
from app.dashboard.auth.proofs import is_recent
from app.dashboard.auth.sessions import this_one
from app.dashboard.auth.single_sign_on import uses_password
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.web.body import read_params

FIELD = "own_password"
NEEDED = _l("Type your password once more. You last did so more than 10 minutes ago.")
# pages of the dashboard and files of theirs; never another host, and no path with `..`
OWN_FILE = re.compile(r"/dashboard(/[A-Za-z0-9_-]+(\.[a-z]+)?)+(\?[^\\#\s]*)?", re.ASCII)

PERMIT, PERMIT_SECONDS = "permit", 3600
PERMITS = TimedTokens("waypost: a deletion in steps that was begun with the password", PERMIT_SECONDS)

View = Callable[..., ResponseReturnValue]


class PasswordNeeded(Forbidden):
    """The request needs the password again."""

    def __init__(self) -> None:
        super().__init__(FieldError(NEEDED, "password_needed"))


def require_recent_password() -> None:
    """For what a GET request opens, as downloads. Raises PasswordNeeded, which is answered with a page."""
    if not is_recent():
        raise PasswordNeeded


def reauthenticated(ask: View, needs: Callable[[], bool] = lambda: True) -> Callable[[View], View]:
    """Guards a view: it runs if the password was typed recently or came along.

    Otherwise `ask` answers, and shows what is wrong. `needs`: whether this request needs the password at all.
    """

    def guard(write: View) -> View:
        @wraps(write)
        def view(**values: Any) -> ResponseReturnValue:
            if is_recent() or not needs():
                return write(**values)
            status = status_of_sent()
            if status == 200:
                return write(**values)
            response = make_response(ask(**values))
            response.status_code = status
            return response

        return view

    return guard


def status_of_sent() -> int:
    """200 if the right password or passkey was sent, else the status of the form that asks for it.

    A page that was opened while the password was recent sends none: the form then says nothing is wrong.
    """
    if not {FIELD, "passkey"} & set(submitted_form()):
        return 422
    form = check_sent()
    return proofs.status_of(form) if form.problems else 200


def check_sent() -> PasswordAgainForm:
    """The form with the password that was sent; `password_again` shows what is wrong with it."""
    form = g.password_again = PasswordAgainForm(submitted_form(), owner=signed_in_user())
    if form.validate():
        proofs.ask_password(form, FIELD)
    return form


@blueprint.app_template_global()
def password_again() -> Markup:
    """The field for the password or a passkey, for forms that need it; empty while the password is recent."""
    if is_recent():
        return Markup()
    form = g.get("password_again") or PasswordAgainForm(None, owner=signed_in_user())
    return Markup(render_template("dashboard/_password_again.html", form=form))  # noqa: S704  a template of ours


@blueprint.app_template_global()
def has_own_password() -> bool:
    """Whether the signed-in user has a password that works."""
    return uses_password(signed_in_user())


@blueprint.app_template_global()
def sign_in_again(field: Any) -> Markup:
    """In place of the field for the password, the way to sign in again, while that is needed."""
    if is_recent():
        return Markup()
    body = render_template("dashboard/_sign_in_again.html", field=field, back=page_of_form())
    return Markup(body)  # noqa: S704  a template of ours


def page_of_form() -> str:
    """The page to come back to: of a form that was sent, the one it stands on."""
    if request.method in SAFE:
        return request.full_path.rstrip("?")
    sent_from = split_address(request.referrer or "")
    query = f"?{sent_from.query}" if sent_from.query else ""
    return sent_from.path + query if sent_from.netloc == request.host else request.path


# ------------------------------------------------------------- before a download


@blueprint.errorhandler(PasswordNeeded)
def ask(error: PasswordNeeded) -> Response:  # noqa: ARG001
    """The page before a download. It sends the password and the download's address to `confirm`."""
    return render_page(PasswordAgainForm(None, owner=signed_in_user()), request.full_path.rstrip("?"), 403)


@blueprint.get("/account/password-again", endpoint="password_again")
def continue_download() -> ResponseReturnValue:
    """Back from the provider, where the user has signed in again."""
    next_ = read_params().get("next", "")
    if not OWN_FILE.fullmatch(next_):
        abort(404)
    form = PasswordAgainForm(None, owner=signed_in_user())
    return render_page(form, next_, 200 if is_recent() else 403)


@blueprint.post("/account/password-again", endpoint="password_again_write")
def confirm() -> ResponseReturnValue:
    """The password was typed: the download follows by itself."""
    next_ = submitted_form().last("next") if "next" in submitted_form() else ""
    if not isinstance(next_, str) or not OWN_FILE.fullmatch(next_):
        abort(404)
    form = check_sent()
    return render_page(form, next_, proofs.status_of(form) if form.problems else 200)


def render_page(form: PasswordAgainForm, next_: str, status: int) -> Response:
    is_done = status == 200
    heading = _("Type your password") if uses_password(signed_in_user()) else _("Sign in again")
    heading = _("Your download starts") if is_done else heading
    body = render_template(
        "dashboard/password_again.html",
        form=form,
        next=next_,
        back=url_for("dashboard.password_again", next=next_),
        has_password=uses_password(signed_in_user()),
        is_done=is_done,
        heading=heading,
    )
    response = make_response(body, status)
    if is_done:
        response.headers["Refresh"] = f"0; url={next_}"
    return response


# --------------------------------------------------- for deletions that take many requests


def permit() -> str:
    """Signed token with which this session may go on with a deletion for an hour."""
    return PERMITS.sign(this_one().id)


def has_permit() -> bool:
    text = submitted_form().last(PERMIT) if PERMIT in submitted_form() else ""
    try:
        return bool(PERMITS.read(str(text)) == this_one().id)
    except BadSignature:
        return False
