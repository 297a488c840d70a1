"""Sign-in by a one-time address that the operator has printed (`users sign-in-link`).

Opening it shows a button: what opens addresses by itself, as mail scanners do, uses none up.
"""

from __future__ import annotations

from flask import Response, make_response, redirect, render_template, url_for
from flask.typing import ResponseReturnValue

from app.accounts import second_factor, sign_in_failures, sign_in_links
from app.core.database import begin_write
from app.core.errors import RateLimited
from app.core.extensions import db
from app.dashboard.auth import rate_limits, sessions
from app.dashboard.auth.login import after_a_while, blueprint, submitted_text, to_code

EXPIRED_LINK = "expired_link"


@blueprint.get("/login/link")
def sign_in_link() -> ResponseReturnValue:
    user = sign_in_links.find(submitted_text("token"))
    if user is None:
        return over_page()
    return render_template("accounts/sign_in_link.html", user=user, token=submitted_text("token"))


@blueprint.post("/login/link")
def sign_in_by_link() -> ResponseReturnValue:
    """A user with a second factor is asked for it here, too: the operator can switch it off."""
    try:
        rate_limits.count_try((rate_limits.by_address(rate_limits.BY_ADDRESS),))
    except RateLimited as wait:
        return after_a_while(wait, over_page(str(wait), 429))
    begin_write(db.session)
    user = sign_in_links.use(submitted_text("token"))
    db.session.commit()
    if user is None:
        sign_in_failures.note("sign_in.failed", None, EXPIRED_LINK)
        return over_page()
    home = url_for("dashboard.home")
    if second_factor.is_on(user):
        sessions.start_pending_sign_in(user, remember=False, next_=home)
        return to_code()
    sessions.start(user, method="link")
    return redirect(home, 303)


def over_page(problem: str = "", status: int = 410) -> Response:
    return make_response(render_template("accounts/sign_in_link_over.html", problem=problem), status)
