"""Passkeys in a request: whether they work at this address, their ceremonies, and the answers to these."""

from __future__ import annotations

import ipaddress
import secrets
from urllib.parse import urlsplit

from flask import request, session
from flask_login import current_user

from app.accounts import passkeys
from app.accounts.models import Passkey
from app.accounts.passkey_ceremonies import Ceremony
from app.core.extensions import db
from app.dashboard.auth.login import blueprint
from app.i18n.messages import gettext as _
from app.web.urls import dashboard_site

BROWSER = "passkeys"  # the name of this browser, for challenges alone
LOCAL = "localhost"
DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def ceremony(purpose: str, user_id: int = 0) -> Ceremony:
    """A ceremony in this browser, at the dashboard's own address."""
    browser = session.setdefault(BROWSER, secrets.token_urlsafe(16))
    return Ceremony(purpose, rp_id(), origin(), str(browser), user_id)


def rp_id() -> str:
    """The host that passkeys are made for: of `DASHBOARD_URL` or `BASE_URL`, else of this request."""
    return urlsplit(dashboard_site()).hostname or ""


def origin() -> str:
    """The dashboard's origin as browsers write it: without the port that its scheme implies."""
    site = urlsplit(dashboard_site())
    return f"{site.scheme}://{site.netloc.removesuffix(DEFAULT_PORTS.get(site.scheme, ''))}"


def accept(text: str, known: Ceremony) -> Passkey:
    """The passkey whose use this answer proves. Commits. Raises PasskeyRefused."""
    row = passkeys.find_sent(text, known)
    passkeys.use(text, row, known)
    db.session.commit()
    return row


def problem_here() -> str:
    """Why browsers let no passkey be used on this page, "" where they do."""
    site, host = urlsplit(origin()), rp_id()
    if site.netloc != request.host:
        return _("Passkeys work at %(site)s only. You have opened another address.", site=origin())
    if is_ip_address(host):
        return _("Passkeys need a host name: they do not work at an IP address.")
    is_local = host == LOCAL or host.endswith(f".{LOCAL}")
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
