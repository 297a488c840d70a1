"""What pages know of single sign-on: whether there is a provider, its name, and who still has a password."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from flask import Flask, abort, current_app, url_for

from app.accounts.models import User
from app.core.config import Settings
from app.i18n.messages import gettext as _
from app.web.application import settings
from app.web.urls import dashboard_site

if TYPE_CHECKING:
    from app.accounts.oidc.provider import OidcProvider

EXTENSION = "oidc"


class SingleSignOn(NamedTuple):
    """Words of the buttons that lead to the provider. `is_only`: nobody signs in with a password."""

    label: str
    label_again: str
    label_out: str
    is_only: bool


def init_app(app: Flask) -> None:
    app.extensions[EXTENSION] = make_provider(app.config["WAYPOST"])
    app.jinja_env.globals["single_sign_on"] = single_sign_on


def make_provider(found: Settings) -> OidcProvider | None:
    if not found.oidc_issuer:
        return None
    from app.accounts.oidc.provider import OidcProvider

    return OidcProvider(found)


def find_provider() -> OidcProvider | None:
    found: OidcProvider | None = current_app.extensions[EXTENSION]
    return found


def require_provider() -> OidcProvider:
    """The provider; without one there is no such page."""
    return find_provider() or abort(404)


def single_sign_on() -> SingleSignOn | None:
    """None without a provider."""
    known = settings()
    if not known.oidc_issuer:
        return None
    if known.oidc_name:
        label = _("Continue with %(name)s", name=known.oidc_name)
        again = _("Sign in with %(name)s again", name=known.oidc_name)
        out = _("Sign out of %(name)s, too", name=known.oidc_name)
    else:
        label, again = _("Continue with single sign-on"), _("Sign in again by single sign-on")
        out = _("Sign out of single sign-on, too")
    return SingleSignOn(label, again, out, known.oidc_only)


def redirect_address() -> str:
    """Where the provider sends browsers back to. The operator has registered it there."""
    return dashboard_site() + url_for("accounts.oidc_callback", _external=False)


def may_use_passwords() -> bool:
    """Whether passwords work on this instance."""
    return not settings().oidc_only


def uses_password(user: User) -> bool:
    """Whether this user has a password that works."""
    return user.has_password and may_use_passwords()


def require_passwords() -> None:
    """For pages about passwords: where these are off, there are none."""
    if not may_use_passwords():
        abort(404)
