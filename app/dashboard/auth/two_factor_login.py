"""Second step of the sign-in: the two-factor code."""

from __future__ import annotations

from flask import flash, redirect, url_for
from flask.typing import ResponseReturnValue

from app.accounts import second_factor, sign_in_failures
from app.accounts.forms import CodeForm
from app.accounts.hashing import GATE, HashPriority
from app.accounts.models import User
from app.core.database import begin_write
from app.core.errors import RateLimited, RetryLater
from app.core.extensions import db
from app.dashboard.auth import kept_forms, oidc_link, proofs, rate_limits, sessions
from app.dashboard.auth.access import current_security_mail, submitted_form
from app.dashboard.auth.login import after_a_while, blueprint, code_page
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
        form.reject("code", proofs.WRONG_CODE, "wrong_code")
        return code_page(form, 403)
    rate_limits.reset_counts(counts)
    if pending.person and pending.links:
        typed = pending.password_typed
        return oidc_link.finish(user, pending.person, pending.next_, method=method, password_typed=typed)
    sessions.start(
        user,
        remember=pending.remember,
        method=method,
        password_typed=pending.password_typed,
        person=pending.person,
    )
    return kept_forms.page_after_sign_in(user) or redirect(pending.next_, 303)


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
