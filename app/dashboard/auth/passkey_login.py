"""Sign-in with a passkey alone, and the second step after the password: a code or a passkey."""

# see docs/decisions/2026-11-25-passkeys.md
from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from flask import flash, redirect, url_for
from flask.typing import ResponseReturnValue

from app.accounts import passkeys, second_factor, services, sign_in_failures
from app.accounts.forms import CodeForm, PasskeyForm, SignInForm
from app.accounts.hashing import GATE, HashPriority
from app.accounts.models import Passkey, User
from app.accounts.passkey_ceremonies import SECOND_FACTOR, SIGN_IN, Ceremony, PasskeyRefused
from app.core.database import begin_write
from app.core.errors import RateLimited, RetryLater
from app.core.extensions import db
from app.dashboard.auth import login, oidc_login, rate_limits, reauthentication, sessions
from app.dashboard.auth.access import current_security_mail, submitted_form
from app.dashboard.auth.login import (
    after_a_while,
    blueprint,
    code_page,
    from_address,
    safe_next,
    sign_in_page,
)
from app.dashboard.auth.rate_limits import TryLimit
from app.web.errors import status_of


@blueprint.get("/login/code")
def code() -> ResponseReturnValue:
    return code_page(CodeForm(None, owner=None)) if sessions.read_pending_sign_in() else over()


def over() -> ResponseReturnValue:
    """Redirect to the sign-in page, which says why. It keeps the page to go to afterwards."""
    why, next_ = sessions.forget_pending_sign_in()
    if why:
        flash(str(why), "error")
    kept = {"next": next_} if next_ not in ("", url_for("dashboard.home")) else {}
    return redirect(url_for("accounts.login", _external=False, **kept), 303)


@blueprint.post("/login/code")
def sign_in_with_code() -> ResponseReturnValue:
    pending = sessions.read_pending_sign_in()
    if pending is None:
        return over()
    user = pending.user
    form = CodeForm(submitted_form(), owner=None)
    if not form.validate():
        return code_page(form, 422)
    counts = rate_limits.of_code(user)
    try:
        # the password was right: such a try is not a stranger's
        with GATE.reserve(HashPriority.KNOWN), rate_limits.counted_try(counts):
            method = way_in(user, form.code.data)
    except RetryLater as wait:
        if isinstance(wait, RateLimited):
            sign_in_failures.note_code(user, sign_in_failures.TOO_MANY_TRIES)
        form.reject("code", str(wait), wait.errors[0].code)
        return after_a_while(wait, code_page(form, status_of(wait)))
    if method is None:
        sign_in_failures.note_code(user)
        form.reject("code", reauthentication.WRONG_CODE, "wrong_code")
        return code_page(form, 403)
    rate_limits.reset_counts(counts)
    if pending.person and pending.links:
        typed = pending.password_typed
        return oidc_login.finish_link(
            user, pending.person, pending.next_, method=method, password_typed=typed
        )
    sessions.start(
        user,
        remember=pending.remember,
        method=method,
        password_typed=pending.password_typed,
        person=pending.person,
    )
    return login.page_after_sign_in(user) or redirect(pending.next_, 303)


def way_in(user: User, typed: str) -> str | None:
    """`app` or `recovery` for a valid code, else None. The code is spent even if the request fails later.

    Raises Busy.
    """
    read = second_factor.read_typed(user, typed)
    begin_write(db.session)
    found = second_factor.accept_code(user, read)
    if found == second_factor.RECOVERY:
        current_security_mail().recovery_code_used(user, second_factor.codes_left(user))
    db.session.commit()
    return found


ALONE, AFTER_PASSWORD = "passkey", "password_and_passkey"  # methods, as the audit log holds them


# ----------------------------------------------------------------- a passkey alone
@blueprint.get("/login/passkey/options")
def passkey_options() -> ResponseReturnValue:
    return {"get": passkeys.authentication_options(reauthentication.passkey_ceremony(SIGN_IN))}


@blueprint.get("/login/passkey")
def passkey() -> ResponseReturnValue:
    """Where the button Back leads, and a form that was sent too late."""
    kept = {"next": from_address("next")} if from_address("next") else {}
    return redirect(url_for("accounts.login", _external=False, **kept), 303)


@blueprint.post("/login/passkey")
def sign_in_with_passkey() -> ResponseReturnValue:
    form = PasskeyForm(submitted_form(), owner=None)
    again = SignInForm(None, owner=None)
    if not form.validate():
        return sign_in_page(again, form.problems[0].title, status=422)
    try:
        user = authenticate(form.passkey.data)
    except RateLimited as wait:
        return after_a_while(wait, sign_in_page(again, str(wait), status=status_of(wait)))
    except (PasskeyRefused, services.ShutOut) as refused:
        return sign_in_page(again, str(refused), status=403)
    sessions.start(user, remember=bool(form.remember.data), method=ALONE)
    return login.page_after_sign_in(user) or redirect(safe_next(), 303)


def authenticate(text: str) -> User:
    """The user whose passkey this is. Raises RateLimited, PasskeyRefused, and ShutOut after the right one."""
    known = reauthentication.passkey_ceremony(SIGN_IN)
    claimed = find_user(text, known)
    user = accept_counted(text, known, claimed, rate_limits.of_passkey(claimed)).user
    if not user.is_active:
        sign_in_failures.note_passkey(user, sign_in_failures.SHUT_OUT)
        raise services.ShutOut(user)
    return user


def find_user(text: str, known: Ceremony) -> User | None:
    """Whose passkey the answer names. It may be anybody's: nothing is verified yet."""
    try:
        return passkeys.find_sent(text, known).user
    except PasskeyRefused:
        return None


def accept_counted(text: str, known: Ceremony, claimed: User | None, counts: Sequence[TryLimit]) -> Passkey:
    """Accept the answer, as one of so many tries. Raises RateLimited, PasskeyRefused."""
    try:
        with rate_limits.counted_try(counts):
            row = reauthentication.accept_passkey(text, known)
    except RateLimited:
        sign_in_failures.note_passkey(claimed, sign_in_failures.TOO_MANY_TRIES)
        raise
    except PasskeyRefused as refused:
        sign_in_failures.note_passkey(claimed, refused.reason)
        raise
    rate_limits.reset_counts(counts)
    return row


# ------------------------------------------------------------ after the password
@blueprint.get("/login/code/passkey/options")
def second_passkey_options() -> ResponseReturnValue:
    pending = sessions.read_pending_sign_in()
    if pending is None:
        return {}, 401
    known = reauthentication.passkey_ceremony(SECOND_FACTOR, pending.user.id)
    return {"get": passkeys.authentication_options(known, pending.user)}


@blueprint.get("/login/code/passkey")
def second_passkey() -> ResponseReturnValue:
    return redirect(url_for("accounts.code"), 303)


@blueprint.post("/login/code/passkey")
def sign_in_with_second_passkey() -> ResponseReturnValue:
    pending = sessions.read_pending_sign_in()
    if pending is None:
        return over()
    user, form = pending.user, PasskeyForm(submitted_form(), owner=None)
    again = CodeForm(None, owner=None)
    if not form.validate():
        return code_page(again, 422)
    known = reauthentication.passkey_ceremony(SECOND_FACTOR, user.id)
    try:
        accept_counted(form.passkey.data, known, user, rate_limits.of_code(user))
    except RateLimited as wait:
        again.reject("code", str(wait), wait.errors[0].code)
        return after_a_while(wait, code_page(again, status_of(wait)))
    except PasskeyRefused as refused:
        again.reject("code", str(refused), "wrong_passkey")
        return code_page(again, 403)
    sessions.start(
        user, remember=pending.remember, method=AFTER_PASSWORD, password_typed=pending.password_typed
    )
    return login.page_after_sign_in(user) or redirect(pending.next_, 303)


class SecondSteps(NamedTuple):
    """What the account of a sign-in can take its second step with; `passkeys`: those that work here."""

    has_app: bool
    has_passkey: bool
    passkeys: bool


@blueprint.app_template_global()
def second_steps() -> SecondSteps:
    pending = sessions.read_pending_sign_in()
    if pending is None:
        return SecondSteps(has_app=True, has_passkey=False, passkeys=False)
    usable = passkeys.usable_at(pending.user, reauthentication.rp_id())
    return SecondSteps(
        second_factor.has_app(pending.user),
        second_factor.has_passkey(pending.user),
        bool(usable) and not reauthentication.problem_here(),
    )
