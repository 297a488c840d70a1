"""Sign-out at the provider: asked for here, and told by the provider's server (back-channel logout).

The latter involves no browser. Only the signature of the logout token counts: not who sends it.
"""

from __future__ import annotations

import logging
from http import HTTPStatus

from flask import flash, redirect, url_for
from flask.typing import ResponseReturnValue

from app.accounts.oidc import logout
from app.accounts.oidc.errors import OidcError, ProviderDown
from app.core.errors import RateLimited
from app.dashboard.auth import rate_limits
from app.dashboard.auth.access import submitted_form
from app.dashboard.auth.login import blueprint
from app.dashboard.auth.single_sign_on import require_provider
from app.i18n.messages import gettext as _
from app.web.urls import dashboard_site

FIELD = "logout_token"
RETRY_SECONDS = 30

log = logging.getLogger(__name__)


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
        notice = provider.read_logout_token(submitted_form().last(FIELD) if FIELD in submitted_form() else "")
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
