"""How does somebody sign in whose account asks for a code, too?"""

from __future__ import annotations

from flask import Response, flash, make_response, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from app import sign_in_failures
from app.accounts import second_factor
from app.accounts.forms import CodeForm
from app.accounts.hashing import GATE, Lane
from app.accounts.models import User
from app.dashboard import proofs, security_mail, sessions, tries
from app.dashboard.accounts import after_a_while, blueprint
from app.dashboard.guard import sent
from app.database import begin_write
from app.errors import TooMany, Waiting
from app.extensions import db
from app.failures import status_of


@blueprint.get("/login/code")
def code() -> ResponseReturnValue:
    return code_page(CodeForm(None, owner=None)) if sessions.half() else over()


def over() -> ResponseReturnValue:
    """Back to the password, which says why, and from there to where it was to lead."""
    why, next_ = sessions.forget_half()
    if why:
        flash(why, "error")
    kept = {"next": next_} if next_ not in ("", url_for("dashboard.home")) else {}
    return redirect(url_for("accounts.login", _external=False, **kept), 303)


@blueprint.post("/login/code")
def sign_in_with_code() -> ResponseReturnValue:
    half = sessions.half()
    if half is None:
        return over()
    user = half.user
    form = CodeForm(sent(), owner=None)
    if not form.validate():
        return code_page(form, 422)
    counts = tries.of_code(user)
    try:
        with GATE.reserve(Lane.KNOWN):  # who comes here knows the password
            tries.count_try(counts)
            method = way_in(user, form.code.data)
    except Waiting as wait:
        if isinstance(wait, TooMany):
            sign_in_failures.note_code(user, sign_in_failures.TOO_MANY_TRIES)
        form.reject("code", str(wait), wait.errors[0].code)
        return after_a_while(wait, code_page(form, status_of(wait)))
    if method is None:
        sign_in_failures.note_code(user)
        form.reject("code", proofs.WRONG_CODE, "wrong_code")
        return code_page(form, 403)
    tries.reset_counts(counts)
    sessions.start(user, remember=half.remember, method=method, password_typed=half.password_typed)
    return redirect(half.next_, 303)


def way_in(user: User, typed: str) -> str | None:
    """`app` or `recovery` for a good code, which is spent from here on, whatever comes of the rest. Raises
    Busy."""
    read = second_factor.read_typed(user, typed)
    begin_write(db.session)
    found = second_factor.opens(user, read)
    if found == second_factor.RECOVERY:
        security_mail.told().recovery_code_used(user, second_factor.codes_left(user))
    db.session.commit()
    return found


def code_page(form: CodeForm, status: int = 200) -> Response:
    return make_response(render_template("accounts/code.html", form=form), status)
