"""Sign-in, sign-out, and the set-up of the first account.

The server stores nothing for a stranger. What was typed into a form whose session was over is carried by the
sign-in page in one encrypted text, which only a sign-in to the form's own account opens again.
"""

# see docs/decisions/2026-11-24-kept-forms.md
from __future__ import annotations

import json
import re
import zlib
from typing import NamedTuple

from flask import (
    Blueprint,
    Flask,
    Response,
    abort,
    current_app,
    flash,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue
from flask_login import current_user
from flask_wtf.csrf import generate_csrf
from werkzeug.exceptions import HTTPException

from app.accounts import passwords, second_factor, services, setup, sign_in_failures
from app.accounts.forms import CodeForm, NewUserForm, SignInForm
from app.accounts.hashing import GATE, HashPriority
from app.accounts.models import User
from app.core.clock import now
from app.core.database import begin_write
from app.core.encryption import decrypt_text, encrypt_text
from app.core.errors import FieldError, Forbidden, Malformed, RateLimited, RetryLater, WaypostError
from app.core.extensions import db
from app.core.secret_keys.ring import current_keys
from app.dashboard.auth import rate_limits, sessions, single_sign_on
from app.dashboard.auth.access import (
    SAFE,
    SignedOut,
    require_own_write,
    require_same_origin,
    signed_in_user,
    submitted_form,
)
from app.dashboard.auth.single_sign_on import may_use_passwords, require_passwords
from app.dashboard.shared.blueprint import blueprint as dashboard
from app.dashboard.shared.rendering import is_fragment
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.web.application import settings
from app.web.body import read_params
from app.web.error_pages import error_response
from app.web.errors import status_of

# `next` may name pages of the dashboard only: any other path of this host may be a short link to any site
OWN_PAGE = re.compile(r"/dashboard(/[A-Za-z0-9_-]+)*/?(\?[^\\#\s]*)?", re.ASCII)
NOT_THE_ADDRESS = _l("This is not the set-up address. Open the one that Waypost prints when it starts.")
NO_PASSWORDS = _l("Passwords are off on this instance. Sign in by single sign-on.")
PASSWORD_OFF = "password_off"  # noqa: S105  a reason of the audit log
WRONG = _l("This e-mail address and password do not match.")

# requests of other servers, which no session of a browser protects: what they send is signed
FOR_MACHINES = {"accounts.oidc_logout"}

blueprint = Blueprint("accounts", __name__)


def init_app(app: Flask) -> None:
    sessions.init_app(app)
    single_sign_on.init_app(app)
    app.register_blueprint(blueprint)


@blueprint.before_request
def guard() -> ResponseReturnValue | None:
    """Check writes as on every page, but show a form whose session has ended again, with a new token."""
    if request.endpoint in FOR_MACHINES:
        return None
    try:
        require_own_write()
    except Forbidden as error:
        if error.errors[0].code != "stale":
            raise
        flash(_("This page had been open for too long. Please try again."), "error")
        kept = {"next": submitted_text("next") or None, "token": submitted_text("token") or None}
        return redirect(url_for(request.endpoint or "", _external=False, **kept), 303)
    return None


def submitted_text(name: str) -> str:
    """A field of the form, else a parameter of the address."""
    return submitted_form().text(name) if name in submitted_form() else from_address(name)


def from_address(name: str) -> str:
    """A parameter of the address. Of a query that is not UTF-8, as after a mail was mangled, none."""
    try:
        return read_params().get(name, "")
    except Malformed:
        return ""


@blueprint.get("/login")
def login() -> ResponseReturnValue:
    if current_user.is_authenticated:
        return redirect(safe_next())
    return sign_in_page(SignInForm(None, owner=None), is_new=not services.has_users())


@blueprint.post("/login")
def sign_in() -> ResponseReturnValue:
    if current_user.is_authenticated and carried_form():  # by single sign-on, in another tab
        return page_after_sign_in(signed_in_user()) or redirect(safe_next(), 303)
    form = SignInForm(submitted_form(), owner=None)
    if not may_use_passwords():
        sign_in_failures.note("sign_in.failed", None, PASSWORD_OFF)
        return sign_in_page(SignInForm(None, owner=None), NO_PASSWORDS, status=403)
    if not form.validate():
        return sign_in_page(form, status=422)
    try:
        user = authenticate(form.email.data, form.password.data)
    except RetryLater as wait:
        if isinstance(wait, RateLimited):
            sign_in_failures.note_password(form.email.data, sign_in_failures.TOO_MANY_TRIES)
        return after_a_while(wait, sign_in_page(form, str(wait), status=status_of(wait)))
    except services.ShutOut as shut_out:
        sign_in_failures.note_password(form.email.data, sign_in_failures.SHUT_OUT)
        return sign_in_page(form, str(shut_out), status=403)
    if user is None:
        sign_in_failures.note_password(form.email.data)
        return sign_in_page(form, WRONG, status=403)
    db.session.commit()  # the password hash, where it was renewed
    remember = bool(form.remember.data)
    if second_factor.is_on(user):
        sessions.start_pending_sign_in(user, remember=remember, next_=safe_next())
        return code_page(CodeForm(None, owner=None)) if carried_form() else to_code()
    sessions.start(user, remember=remember)
    return page_after_sign_in(user) or redirect(safe_next(), 303)


def to_code() -> ResponseReturnValue:
    return redirect(url_for("accounts.code"), 303)


def code_page(form: CodeForm, status: int = 200) -> Response:
    return make_response(render_template("accounts/code.html", form=form, kept=carried_form()), status)


def authenticate(email: str, password: str) -> User | None:
    """The user with this address and password. Raises Busy, which counts as no try, RateLimited, ShutOut."""
    browser = rate_limits.name_for_email(email)
    counts = rate_limits.of_sign_in(email, browser)
    with (
        GATE.reserve(HashPriority.KNOWN if browser else HashPriority.STRANGERS),
        rate_limits.counted_try(counts),
    ):
        user = services.authenticate(email, password)
    if user is not None:
        rate_limits.reset_counts(counts)
    return user


def after_a_while(wait: RetryLater, response: Response) -> Response:
    response.headers["Retry-After"] = str(wait.seconds)
    return response


def sign_in_page(
    form: SignInForm, problem: str = "", *, status: int = 200, is_new: bool = False, kept: str = ""
) -> Response:
    has_mail = bool(settings().smtp_url)
    days = current_app.permanent_session_lifetime.days
    body = render_template(
        "accounts/login.html",
        form=form,
        problem=problem,
        next=submitted_text("next"),
        has_mail=has_mail,
        days=days,
        is_new=is_new,
        kept=kept or carried_form(),
        ended_here=submitted_text("ended") == "provider",
    )
    return make_response(body, status)


def safe_next() -> str:
    """Where to go after the sign-in: always a page of the dashboard, whatever `next` says."""
    return submitted_text("next") if OWN_PAGE.fullmatch(submitted_text("next")) else url_for("dashboard.home")


@blueprint.get("/logout")
def logout() -> ResponseReturnValue:
    """A page with a button: a GET request must not sign out."""
    if not current_user.is_authenticated:
        return redirect(url_for("accounts.login"))
    return render_template("accounts/logout.html")


@blueprint.post("/logout")
def sign_out() -> ResponseReturnValue:
    """End the session. Whoever has signed in at the provider is offered to sign out there, too."""
    is_of_provider = current_user.is_authenticated and sessions.is_of_provider()
    provider = single_sign_on.find_provider()
    sessions.end()
    flash(_("You are signed out."))
    offered = {"ended": "provider"} if is_of_provider and provider and provider.may_offer_sign_out() else {}
    return redirect(url_for("accounts.login", _external=False, **offered), 303)


@blueprint.get("/setup")
def first_run() -> ResponseReturnValue:
    require_token()
    return setup_page(NewUserForm(None, owner=None))


@blueprint.post("/setup")
def make_first_user() -> ResponseReturnValue:
    require_passwords()
    if services.has_users():
        return too_late()
    if not has_right_token():
        db.session.rollback()  # a new transaction, which sees what other requests have written
        if services.has_users():  # another request has made it since
            return too_late()
        raise Forbidden(FieldError(NOT_THE_ADDRESS, "setup_token"))
    form = NewUserForm(submitted_form(), owner=None)
    if not form.validate():
        return setup_page(form, status=422)
    user = first_user(form)
    if user is None:
        return too_late()
    setup.forget_token(settings().data_dir)
    sessions.start(user)
    return redirect(url_for("dashboard.home"), 303)


def first_user(form: NewUserForm) -> User | None:
    password_hash = passwords.hash_password(form.password.data)
    begin_write(db.session)
    user = setup.create_first_user(form.email.data, password_hash, form.profile)
    db.session.commit()
    return user


def require_token() -> None:
    if services.has_users():
        abort(404)
    if not has_right_token():
        raise Forbidden(FieldError(NOT_THE_ADDRESS, "setup_token"))


def has_right_token() -> bool:
    return setup.is_right(settings().data_dir, submitted_text("token"))


def setup_page(form: NewUserForm, *, status: int = 200) -> Response:
    has_own_address = settings().dashboard_url is not None
    page = render_template(
        "accounts/setup.html",
        form=form,
        token=submitted_text("token"),
        recommends_own_address=not has_own_address,
    )
    return make_response(page, status)


def too_late() -> ResponseReturnValue:
    """The form was sent twice, or another request was quicker."""
    flash(_("This instance is set up. Sign in with the account that was created."))
    return redirect(url_for("accounts.login"), 303)


# --- where the session of a form was over: in a second tab, or with the form kept until after it


@blueprint.get("/login/session")
def session_now() -> ResponseReturnValue:
    """Who is signed in, for a page that is about to send a form: the page may be older than the session."""
    if not current_user.is_authenticated:
        return {"account": None}
    return {"account": str(current_user.id), "email": current_user.email, "token": generate_csrf()}


@dashboard.get("/signed-in")
def signed_in() -> ResponseReturnValue:
    """The end of a sign-in in a second tab: it closes itself, or says that it may be closed."""
    return render_template("dashboard/signed_in.html")


@dashboard.errorhandler(SignedOut)
def keep_form(error: SignedOut) -> Response:
    """Answer a form whose session is over by the sign-in page, which keeps what was typed."""
    kept = "" if request.method in SAFE else keep_sent()
    if not kept:
        return error_response(error)
    why = _("You are signed out. What you typed is kept on this page: sign in to continue.")
    return sign_in_page(SignInForm(None, owner=None), why, status=401, kept=kept)


# --- what was typed into a form whose session was over, kept in the sign-in page until its owner is back


KEPT_FIELD = "kept"
ACCOUNT_FIELD = "account"  # the field by which a form says whose it is
AGAIN_FIELD = "again"  # the field that has a form shown, not saved
KEPT_SECONDS = 3600
MAX_KEPT = 48_000  # characters: the sign-in form must stay below the size of a form of strangers
SECRETS = frozenset({"password", "own_password", "current_password", "code"})
NOT_KEPT = SECRETS | {"csrf_token", "passkey", ACCOUNT_FIELD, AGAIN_FIELD}


class KeptForm(NamedTuple):
    """The path of a form, and the fields that were sent there. `is_whole`: nothing had to be left out."""

    path: str
    fields: list[tuple[str, str]]
    is_whole: bool


def keep_sent() -> str:
    """The sent form as an encrypted text; "" for a form that can't be shown again, or is too long."""
    try:
        require_same_origin()
        sent = submitted_form()
    except (WaypostError, HTTPException):  # from another site, too long, or none that can be read
        return ""
    account = sent.last(ACCOUNT_FIELD) if ACCOUNT_FIELD in sent else None
    if is_fragment() or not isinstance(account, str):
        return ""
    pairs = [(f"{name}[{index}]", value) for name, index, value in sent.pairs() if name not in NOT_KEPT]
    fields = [(name, value) for name, value in pairs if isinstance(value, str)]
    is_whole = len(fields) == len(pairs) and not any(sent.last(name) for name in SECRETS if name in sent)
    until = now().timestamp() + KEPT_SECONDS
    content = json.dumps([account, until, request.path, fields, is_whole])
    text = encrypt_text(zlib.compress(content.encode()), current_keys().current())
    return text if len(text) <= MAX_KEPT else ""


def carried_form() -> str:
    """The encrypted text that came with a step of the sign-in."""
    return submitted_form().text(KEPT_FIELD)


def open_kept(text: str, user: User) -> KeptForm | None:
    """The form that this user sent. None for another's, for one that is too old, and for what is none."""
    content = decrypt_text(text, current_keys().all()) if text else None
    if content is None:
        return None
    account, until, path, fields, is_whole = json.loads(zlib.decompress(content))
    if account != str(user.id) or until < now().timestamp():
        return None
    return KeptForm(path, [(name, value) for name, value in fields], is_whole)


def page_after_sign_in(user: User) -> Response | None:
    """The page that leads back to the form; None where none was kept for this user."""
    kept = open_kept(carried_form(), user)
    return kept and make_response(render_template("dashboard/kept_form.html", kept=kept, again=AGAIN_FIELD))
