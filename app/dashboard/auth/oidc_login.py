"""Sign-in by the provider: to it, back from it, and what becomes of the person whom it names. Sign-out there.

A sign-in on its way to the provider and back is kept in an encrypted cookie of the browser that began it.
Each has a cookie of its own, so that two tabs do not spoil each other's sign-in, and no session is needed. An
answer without its cookie began in another browser, and is refused.

The back-channel logout involves no browser. Only the signature of the logout token counts: not who sends it.
"""

# see docs/decisions/2026-11-25-single-sign-on.md
from __future__ import annotations

import datetime as dt
import hashlib
import json
import logging
from http import HTTPStatus
from typing import NamedTuple

from flask import (
    Response,
    after_this_request,
    flash,
    make_response,
    redirect,
    render_template,
    request,
    url_for,
)
from flask.typing import ResponseReturnValue
from flask_login import current_user

from app.accounts import invitations, second_factor, services, setup, sign_in_failures
from app.accounts.forms import PasswordAgainForm
from app.accounts.models import User
from app.accounts.oidc import identities, logout
from app.accounts.oidc.errors import (
    NO_ACCOUNT,
    NotLinked,
    NotRecent,
    OidcError,
    OtherIdentity,
    ProviderDown,
    StaleSignIn,
)
from app.accounts.oidc.identities import NO_PASSWORD
from app.accounts.oidc.person import ProviderPerson
from app.accounts.oidc.used_values import SignInRequest, use_once
from app.core.clock import now
from app.core.database import begin_write
from app.core.encryption import decrypt_text, encrypt_text
from app.core.errors import Malformed, RateLimited, RetryLater, WaypostError
from app.core.extensions import db
from app.core.secret_keys.ring import current_keys
from app.dashboard.auth import login, rate_limits, sessions
from app.dashboard.auth.access import current_security_mail, submitted_form
from app.dashboard.auth.login import blueprint, from_address, safe_next, to_code
from app.dashboard.auth.reauthentication import RECENT
from app.dashboard.auth.single_sign_on import redirect_address, require_provider, uses_password
from app.i18n import language
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.web.application import settings
from app.web.body import read_params
from app.web.errors import status_of
from app.web.security_headers import secure_cookie
from app.web.urls import dashboard_site

FLOW_PATH = "/login/oidc"
FLOW_COOKIE = "waypost_oidc_"
FLOW_LIFETIME = dt.timedelta(minutes=10)
MAX_FLOWS = 5  # of one browser at a time: their cookies share one header
SIGN_IN, AGAIN, INVITATION, SETUP = "sign_in", "again", "invitation", "setup"


class Flow(NamedTuple):
    """A sign-in under way. `token`: of the invitation or the set-up. `session_id`: of the session that asks
    who is there again, else 0."""

    state: str
    nonce: str
    verifier: str
    purpose: str
    next_: str
    token: str = ""
    session_id: int = 0
    until: float = 0

    @property
    def sign_in_request(self) -> SignInRequest:
        return SignInRequest(self.state, self.nonce, self.verifier)


def begin_flow(flow: Flow) -> None:
    """Send the cookie with this response. Older sign-ins of a browser that has begun many are given up."""
    content = json.dumps(flow._replace(until=(now() + FLOW_LIFETIME).timestamp()))
    text = encrypt_text(content.encode(), current_keys().current())
    old = [name for name in request.cookies if name.startswith(secure_cookie(FLOW_COOKIE))]

    @after_this_request
    def send(response: Response) -> Response:
        for name in old if len(old) >= MAX_FLOWS else ():
            response.delete_cookie(name, path=FLOW_PATH, secure=request.is_secure, httponly=True)
        response.set_cookie(
            flow_cookie_name(flow.state),
            text,
            max_age=FLOW_LIFETIME,
            path=FLOW_PATH,
            secure=request.is_secure,
            httponly=True,
            samesite="Lax",
        )
        return response


def take_flow(state: str) -> Flow:
    """The sign-in of this browser with this state. It can be taken once. Raises StaleSignIn."""
    content = decrypt_text(request.cookies.get(flow_cookie_name(state), ""), current_keys().all())
    if content is None:
        raise StaleSignIn
    flow = Flow(*json.loads(content))
    if flow.state != state or flow.until < now().timestamp():
        raise StaleSignIn
    if not use_once(db.session, "state", state, FLOW_LIFETIME):  # also with a copy of the cookie
        raise StaleSignIn

    @after_this_request
    def forget(response: Response) -> Response:
        response.delete_cookie(
            flow_cookie_name(state), path=FLOW_PATH, secure=request.is_secure, httponly=True
        )
        return response

    return flow


def flow_cookie_name(state: str) -> str:
    digest = hashlib.sha256(state.encode("utf-8", "replace")).hexdigest()
    return secure_cookie(FLOW_COOKIE + digest[:16])


# where a sign-in with a token began
BEGUN_AT = {INVITATION: "accounts.invited", SETUP: "accounts.first_run"}
INVITATION_OVER = _l("This invitation is not valid any more. Ask for another one.")

log = logging.getLogger(__name__)


@blueprint.get("/login/oidc")
def oidc_start() -> ResponseReturnValue:
    """To the provider. It has its own address, so that the sign-in page never waits for the provider."""
    require_provider()
    if token := from_address("invitation"):
        return to_provider(INVITATION, token)
    if token := from_address("setup"):
        return to_provider(SETUP, token)
    # a user who is signed in goes there to link the account
    is_done = current_user.is_authenticated and not from_address("link")
    return redirect(safe_next()) if is_done else to_provider(SIGN_IN)


@blueprint.get("/login/oidc/again")
def oidc_again() -> ResponseReturnValue:
    """To the provider, which asks who is there, for a user who would else type the password again."""
    require_provider()
    if not current_user.is_authenticated:
        return redirect(url_for("accounts.login", next=safe_next()))
    return to_provider(AGAIN)


def to_provider(purpose: str, token: str = "") -> ResponseReturnValue:
    sign_in_request = SignInRequest.draw()
    session_id = sessions.this_one().id if purpose == AGAIN else 0
    flow = Flow(*sign_in_request, purpose=purpose, next_=safe_next(), token=token, session_id=session_id)
    try:
        rate_limits.count_try((rate_limits.by_address(rate_limits.OIDC_STARTS),))
        address = require_provider().sign_in_address(
            sign_in_request, redirect_address(), is_again=purpose == AGAIN, language=language()
        )
    except (OidcError, RateLimited) as error:
        return refused(error, flow)
    begin_flow(flow)
    return redirect(address, 303)


@blueprint.get("/login/oidc/callback")
def oidc_callback() -> ResponseReturnValue:
    """Back from the provider. What is wrong is said on the sign-in page, without the code in its address."""
    require_provider()
    flow = None
    counts = (rate_limits.by_address(rate_limits.BY_ADDRESS),)
    try:
        rate_limits.count_try(counts)
        params = answer_of_provider()
        flow = take_flow(params.get("state", ""))
        person = require_provider().finish(flow.sign_in_request, params, redirect_address())
        response = continue_with(flow, person)
    except WaypostError as error:
        db.session.rollback()
        return refused(error, flow)
    rate_limits.give_back(counts)  # only what failed counts: many may come from one network
    return response


def answer_of_provider() -> dict[str, str]:
    try:
        return read_params()
    except Malformed:
        return {}


def continue_with(flow: Flow, person: ProviderPerson) -> ResponseReturnValue:
    """The session, or the step before it. Raises WaypostError."""
    if flow.purpose == AGAIN:
        return prove_again(flow, person)
    begin_write(db.session)
    try:
        user = user_of(flow, person)
    except NotLinked:
        known = services.find_user(person.email)
        if known is None or not uses_password(known):
            raise
        db.session.rollback()
        return begin_link(known, person, flow.next_)
    db.session.commit()
    return signed_in(user, person, flow.next_)


def user_of(flow: Flow, person: ProviderPerson) -> User:
    """The account of this person, which may be a new one. The caller has begun the write, and commits."""
    is_linked = identities.find(person) is not None
    known = identities.account_of(person)
    if known is not None:
        if not is_linked:  # as an admin has allowed
            current_security_mail().identity_linked(known, person.email)
        return known
    user: User | None = None
    if flow.purpose == SETUP and setup.is_right(settings().data_dir, flow.token):
        profile = identities.profile_of(person, language())
        user = setup.create_first_user(person.email, NO_PASSWORD, profile)
    elif flow.purpose == INVITATION:
        profile = identities.profile_of(person, language())
        user = invitations.accept(flow.token, person.email, NO_PASSWORD, profile)
        user.verified_email = user.email  # the provider vouches for it
    if user is None:
        return identities.create_account(person, language(), settings().oidc_email_domains)
    identities.link(user, person)
    setup.forget_token(settings().data_dir)
    return user


def signed_in(user: User, person: ProviderPerson, next_: str) -> ResponseReturnValue:
    """Begin the session, after the second factor of a user who has switched one on here."""
    if second_factor.is_on(user):
        sessions.start_pending_sign_in(user, remember=False, next_=next_, person=person)
        return to_code()
    sessions.start(user, method="oidc", person=person)
    return redirect(next_, 303)


def prove_again(flow: Flow, person: ProviderPerson) -> ResponseReturnValue:
    """Note that the user has just signed in at the provider, as if the password had been typed."""
    if not current_user.is_authenticated or sessions.this_one().id != flow.session_id:
        raise OtherIdentity
    if not identities.is_tied(current_user, person):
        raise OtherIdentity
    if not is_fresh(person):
        raise NotRecent
    sessions.note_password()
    return redirect(flow.next_, 303)


def is_fresh(person: ProviderPerson) -> bool:
    """Whether the provider says that the person has just proved who they are.

    Of one that never tells when that was, the way there and back has to be enough.
    """
    if person.proved is None:
        return not require_provider().tells_auth_time()
    return person.proved > now() - RECENT


def refused(error: WaypostError, flow: Flow | None) -> ResponseReturnValue:
    """Say on the page where the sign-in began why there is none, and note it in the audit log."""
    reason = reason_of(error)
    user = current_user if current_user.is_authenticated else None
    is_again = flow is not None and flow.purpose == AGAIN and user is not None
    if isinstance(error, OidcError) and error.detail:
        log.warning("a sign-in by OpenID Connect failed: %s, %s", error.reason, error.detail)
    sign_in_failures.note("proof.failed" if is_again else "sign_in.failed", user, reason)
    flash(words_of(error), "error")
    if is_again:
        return redirect(flow.next_ if flow else url_for("dashboard.home"), 303)
    if flow is not None and flow.purpose in BEGUN_AT:
        return redirect(url_for(BEGUN_AT[flow.purpose], token=flow.token), 303)
    kept = {"next": flow.next_} if flow and flow.next_ != url_for("dashboard.home") else {}
    return redirect(url_for("accounts.login", _external=False, **kept), 303)


def reason_of(error: WaypostError) -> str:
    if isinstance(error, OidcError):
        return error.reason
    if isinstance(error, RateLimited):
        return sign_in_failures.TOO_MANY_TRIES
    return sign_in_failures.SHUT_OUT if isinstance(error, services.ShutOut) else NO_ACCOUNT


def words_of(error: WaypostError) -> str:
    return " ".join(str(one.title) for one in error.errors) or str(INVITATION_OVER)


# --- sign-out: asked for here, or told by the provider's server (back-channel logout)


LOGOUT_TOKEN = "logout_token"  # noqa: S105  a field's name
RETRY_SECONDS = 30


@blueprint.get("/login/oidc/sign-out")
def oidc_sign_out() -> ResponseReturnValue:
    """To the provider's page that signs out there, for whoever has just signed out here."""
    try:
        back = dashboard_site() + url_for("accounts.login", _external=False)
        address = require_provider().sign_out_address(back)
    except OidcError as error:
        log.warning("the provider's sign-out was not reached: %s", error.detail)
        address = None
    if address is None:
        flash(
            _("The provider of single sign-on offers no sign-out here. Sign out on its own pages."), "error"
        )
        return redirect(url_for("accounts.login"), 303)
    return redirect(address, 303)


@blueprint.post("/login/oidc/logout")
def oidc_logout() -> ResponseReturnValue:
    """End the sessions that the token names. 200 also where there are none; else nothing has ended."""
    provider = require_provider()
    counts = (rate_limits.by_address(rate_limits.OIDC_LOGOUTS),)
    try:
        rate_limits.count_try(counts)
        notice = provider.read_logout_token(submitted_form().text(LOGOUT_TOKEN))
        ended = logout.end_sessions(provider.issuer, notice)
    except RateLimited as wait:
        return refusal("rate_limited"), HTTPStatus.TOO_MANY_REQUESTS, {"Retry-After": str(wait.seconds)}
    except ProviderDown as error:
        log.warning("a logout token could not be checked: %s", error.detail)
        return (
            refusal("temporarily_unavailable"),
            HTTPStatus.SERVICE_UNAVAILABLE,
            {"Retry-After": str(RETRY_SECONDS)},
        )
    except OidcError as error:
        log.warning("a logout token was refused: %s", error.detail)
        return refusal("invalid_request"), HTTPStatus.BAD_REQUEST
    rate_limits.give_back(counts)  # only what was refused counts: all of a provider's come from one address
    log.info("the provider has ended %d sessions", ended)
    return "", HTTPStatus.OK


def refusal(code: str) -> dict[str, str]:
    return {"error": code}


# --- an account linked to the person whom the provider named, after its password was typed


PENDING_LINK = "link_to_make"  # in the session; the sign-in itself waits under another name
WRONG_PASSWORD = _l("This is not the password of this account.")


def begin_link(user: User, person: ProviderPerson, next_: str) -> ResponseReturnValue:
    """Ask for the password of the account with this person's e-mail address.

    The same address is no proof: mailboxes change hands, and accounts here may be older than one there.
    """
    sessions.start_pending_sign_in(user, remember=False, next_=next_, person=person, name=PENDING_LINK)
    return redirect(url_for("accounts.oidc_link"), 303)


def link_over() -> ResponseReturnValue:
    why, _next = sessions.forget_pending_sign_in(PENDING_LINK)
    flash(str(why or sessions.CHANGED), "error")
    return redirect(url_for("accounts.login"), 303)


def pending_link() -> sessions.PendingSignIn | None:
    """The link that this browser has begun, while it can be made."""
    found = sessions.read_pending_sign_in(PENDING_LINK)
    return found if found and found.person and uses_password(found.user) else None


@blueprint.get("/login/oidc/link")
def oidc_link() -> ResponseReturnValue:
    require_provider()
    pending = pending_link()
    return link_page(PasswordAgainForm(None, owner=None), pending.user) if pending else link_over()


def link_page(form: PasswordAgainForm, user: User, status: int = 200) -> Response:
    return make_response(render_template("accounts/oidc_link.html", form=form, user=user), status)


@blueprint.post("/login/oidc/link")
def oidc_link_write() -> ResponseReturnValue:
    """The password counts as at the sign-in, and so does a second factor."""
    require_provider()
    pending = pending_link()
    if pending is None or pending.person is None:
        return link_over()
    user, person = pending.user, pending.person
    form = PasswordAgainForm(submitted_form(), owner=None)
    if not form.validate():
        return link_page(form, user, 422)
    try:
        known = login.authenticate(user.email, form.own_password.data)
    except RetryLater as wait:
        if isinstance(wait, RateLimited):
            sign_in_failures.note_password(user.email, sign_in_failures.TOO_MANY_TRIES)
        form.reject("own_password", str(wait), wait.errors[0].code)
        return login.after_a_while(wait, link_page(form, user, status_of(wait)))
    if known is None:
        sign_in_failures.note_password(user.email)
        form.reject("own_password", WRONG_PASSWORD, "wrong_password")
        return link_page(form, user, 403)
    db.session.commit()  # the password hash, where it was renewed
    if second_factor.is_on(user):
        sessions.start_pending_sign_in(user, remember=False, next_=pending.next_, person=person, links=True)
        return login.to_code()
    return finish_link(user, person, pending.next_)


def finish_link(
    user: User,
    person: ProviderPerson,
    next_: str,
    *,
    method: str = "oidc",
    password_typed: dt.datetime | None = None,
) -> ResponseReturnValue:
    """Make the link, and sign in. `password_typed`: when, if not just now."""
    begin_write(db.session)
    try:
        identities.link(user, person)
    except OidcError as error:
        db.session.rollback()
        sign_in_failures.note("sign_in.failed", user, error.reason)
        flash(str(error.errors[0].title), "error")
        return redirect(url_for("accounts.login"), 303)
    current_security_mail().identity_linked(user, person.email)
    db.session.commit()
    sessions.start(user, method=method, password_typed=password_typed or now(), person=person)
    flash(_("Your account is linked. From now on you can sign in without your password."))
    return redirect(next_, 303)
