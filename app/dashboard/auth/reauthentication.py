"""Proofs in an open session: password, passkey or code, asked for again before keys, exports and deletions.

An open session alone is not enough for them when the password was last typed over ten minutes ago: forms then
have one more field, and downloads a page before them. A passkey that knows its user is worth a password. See
docs/decisions/2026-11-22-password-again.md.
"""

from __future__ import annotations

import datetime as dt
import ipaddress
import re
import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import wraps
from typing import Any
from urllib.parse import urlsplit

from flask import (
    Response,
    abort,
    after_this_request,
    g,
    make_response,
    render_template,
    request,
    session,
    url_for,
)
from flask.typing import ResponseReturnValue
from flask_login import current_user
from itsdangerous import BadSignature
from markupsafe import Markup

from app.accounts import passkeys, passwords, sign_in_failures
from app.accounts.forms import PasswordAgainForm, ProofForm
from app.accounts.hashing import GATE, HashPriority
from app.accounts.models import Passkey
from app.accounts.passkey_ceremonies import PROOF, Ceremony, PasskeyRefused
from app.core.clock import now
from app.core.errors import FieldError, Forbidden, RetryLater
from app.core.extensions import db
from app.core.secret_keys.timed_tokens import TimedTokens
from app.core.urls import split_address
from app.dashboard.auth import rate_limits
from app.dashboard.auth.access import SAFE, signed_in_user, submitted_form
from app.dashboard.auth.rate_limits import TryLimit
from app.dashboard.auth.sessions import note_password, this_one
from app.dashboard.auth.single_sign_on import uses_password
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import ResourceForm
from app.web.body import read_params
from app.web.urls import dashboard_site

PASSKEY_BROWSER = "passkeys"  # the name of this browser, for challenges alone
LOCALHOST = "localhost"
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def passkey_ceremony(purpose: str, user_id: int = 0) -> Ceremony:
    """A ceremony in this browser, at the dashboard's own address."""
    browser = session.setdefault(PASSKEY_BROWSER, secrets.token_urlsafe(16))
    return Ceremony(purpose, rp_id(), dashboard_origin(), str(browser), user_id)


def rp_id() -> str:
    """The host that passkeys are made for: of `DASHBOARD_URL` or `BASE_URL`, else of this request."""
    return urlsplit(dashboard_site()).hostname or ""


def dashboard_origin() -> str:
    """The dashboard's origin as browsers write it: without the port that its scheme implies."""
    site = urlsplit(dashboard_site())
    return f"{site.scheme}://{site.netloc.removesuffix(DEFAULT_PORTS.get(site.scheme, ''))}"


def accept_passkey(text: str, known: Ceremony) -> Passkey:
    """The passkey whose use this answer proves. Commits. Raises PasskeyRefused."""
    row = passkeys.find_sent(text, known)
    passkeys.use(text, row, known)
    db.session.commit()
    return row


def problem_here() -> str:
    """Why browsers let no passkey be used on this page, "" where they do."""
    site, host = urlsplit(dashboard_origin()), rp_id()
    if site.netloc != request.host:
        return _("Passkeys work at %(site)s only. You have opened another address.", site=dashboard_origin())
    if is_ip_address(host):
        return _("Passkeys need a host name: they do not work at an IP address.")
    is_local = host == LOCALHOST or host.endswith(f".{LOCALHOST}")
    if site.scheme != "https" and not is_local:
        return _("Passkeys need HTTPS: this page was opened by plain HTTP.")
    return ""


def is_ip_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


@blueprint.app_template_global()
def passkeys_work_here() -> bool:
    return not problem_here()


@blueprint.app_template_global()
def can_prove_by_passkey() -> bool:
    """Whether the signed-in user has a passkey that works on this page."""
    return not problem_here() and bool(passkeys.usable_at(current_user, rp_id()))


RECENT = dt.timedelta(minutes=10)
SIGN_IN_AGAIN = _l("Sign in once more first. You last did so more than 10 minutes ago.")
NOT_CURRENT = _l("This is not your current password.")
WRONG_CODE = _l("This code is not right, or was used already. The app shows another one every 30 seconds.")
STATUSES = {"too_many_tries": 429, "busy": 503}  # by the code of a problem


def is_recent() -> bool:
    """Whether this session's user has proved within the last ten minutes who they are."""
    typed = this_one().password_datetime
    return typed is not None and typed > now() - RECENT


def validate_with_password(form: ProofForm, name: str = "current_password") -> None:
    """Validate a form that always asks for the password.

    A user who has none must have signed in within the last ten minutes instead, or use a passkey.
    """
    if not uses_password(signed_in_user()):
        form[name].ignore()
        if form.validate() and not is_recent():
            ask_password(form, name)
    elif form.validate():
        ask_password(form, name)


def ask_password(form: ProofForm, name: str = "current_password") -> None:
    """Reject the field if the password is wrong, or the passkey that came instead of it.

    Tries count by session, which strangers cannot use up.
    """
    counts = (TryLimit(rate_limits.BY_SESSION, str(this_one().id)),)
    if form.passkey.data:
        ask_passkey(form, name, counts)
        return
    if not uses_password(signed_in_user()):
        form.reject(name, SIGN_IN_AGAIN, "password_needed")
        return
    with rate_limit_errors_on(form, name), GATE.reserve(HashPriority.KNOWN), rate_limits.counted_try(counts):
        if passwords.check_password(signed_in_user().password_hash, form[name].data):
            rate_limits.reset_counts(counts)
            note_password()
        else:
            sign_in_failures.note_proof(signed_in_user(), sign_in_failures.WRONG_PASSWORD)
            form.reject(name, NOT_CURRENT, "wrong_password")


def ask_passkey(form: ProofForm, name: str, counts: Sequence[TryLimit]) -> None:
    """Reject the field if the passkey is refused. One that knows its user is worth the password."""
    user = signed_in_user()
    with rate_limit_errors_on(form, name), rate_limits.counted_try(counts):
        try:
            accept_passkey(form.passkey.data, passkey_ceremony(PROOF, user.id))
        except PasskeyRefused as refused:
            sign_in_failures.note_proof(user, refused.reason)
            form.reject(name, str(refused), "wrong_passkey")
        else:
            rate_limits.reset_counts(counts)
            note_password()


def ask_code(form: ResourceForm, takes: Callable[[str], bool]) -> None:
    """Reject the field `code` if `takes` returns False, or if there were too many tries."""
    counts = (TryLimit(rate_limits.CODE_BY_SESSION, str(this_one().id)),)
    with (
        rate_limit_errors_on(form, "code"),
        GATE.reserve(HashPriority.KNOWN),
        rate_limits.counted_try(counts),
    ):
        if takes(form["code"].data):
            rate_limits.reset_counts(counts)
        else:
            sign_in_failures.note_proof(signed_in_user(), sign_in_failures.WRONG_CODE)
            form.reject("code", WRONG_CODE, "wrong_code")


@contextmanager
def rate_limit_errors_on(form: ResourceForm, name: str) -> Iterator[None]:
    """Turn RetryLater into an error of the field, and set the header `Retry-After`."""
    try:
        yield
    except RetryLater as wait:
        form.reject(name, str(wait), wait.errors[0].code)
        seconds = str(wait.seconds)

        @after_this_request
        def come_again(response: Response) -> Response:
            response.headers["Retry-After"] = seconds
            return response


def status_of_proof(form: ResourceForm) -> int:
    """Status of a page that shows what is wrong with `form`. For htmx it is 422: it shows no other."""
    if rendering.is_fragment():
        return 422
    return next((STATUSES[problem.code] for problem in form.problems if problem.code in STATUSES), 422)


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
    return status_of_proof(form) if form.problems else 200


def check_sent() -> PasswordAgainForm:
    """The form with the password that was sent; `password_again` shows what is wrong with it."""
    form = g.password_again = PasswordAgainForm(submitted_form(), owner=signed_in_user())
    if form.validate():
        ask_password(form, FIELD)
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
    next_ = submitted_form().text("next")
    if not OWN_FILE.fullmatch(next_):
        abort(404)
    form = check_sent()
    return render_page(form, next_, status_of_proof(form) if form.problems else 200)


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
    try:
        return bool(PERMITS.read(submitted_form().text(PERMIT)) == this_one().id)
    except BadSignature:
        return False
