"""Pages where an owner switches two-factor authentication on and off and renews the recovery codes."""

from __future__ import annotations

from collections.abc import Callable

import segno
from flask import Response, flash, make_response, render_template, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from app.accounts import second_factor
from app.accounts.forms import CodeForm, CurrentPasswordForm, LeaveTwoFactorForm
from app.accounts.models import SecondFactor
from app.accounts.second_factor import NewCodes
from app.core.database import begin_write
from app.core.extensions import db
from app.dashboard.auth import proofs
from app.dashboard.auth.access import signed_in_user, submitted_form
from app.dashboard.shared import rendering, security_email
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import ResourceForm

OFF, BEGUN, ON = "off", "begun", "on"
RAN_OUT = _l("The key that was shown has expired. Please begin again.")


def state() -> str:
    """OFF (the password begins the set-up), BEGUN (the secret is shown, a code confirms it) or ON."""
    if second_factor.is_on(signed_in_user()):
        return ON
    return BEGUN if second_factor.find_unconfirmed(signed_in_user()) else OFF


@blueprint.get("/account/two-factor", endpoint="two_factor")
def show() -> ResponseReturnValue:
    known = state()
    if known == ON:
        factor, left = second_factor.find(signed_in_user()), second_factor.codes_left(signed_in_user())
        return render_step("on", None, factor=factor, left=left)
    form = CodeForm if known == BEGUN else CurrentPasswordForm
    return render_step(known, form(None, owner=signed_in_user()))


def render_step(name: str, form: ResourceForm | None, **context: object) -> Response:
    """One step of the page, with what is wrong with its form."""
    whole, part = "dashboard/account/two_factor.html", f"dashboard/account/_two_factor_{name}.html"
    context |= setup_context() if name == BEGUN else {}
    body = render_template(
        whole, fragment=part, form=form, here="account", zone=rendering.owner_zone(), **context
    )
    return make_response(body, proofs.status_of(form) if form and form.problems else 200)


def setup_context() -> dict[str, object]:
    factor = db.session.get_one(SecondFactor, signed_in_user().id)
    address = second_factor.address_of(factor, signed_in_user().email)
    drawn = segno.make(address, error="m").svg_inline(scale=4, border=3, dark="#000", light="#fff")
    secret = factor.settings["secret"]
    spaced = " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))
    return {"drawn": Markup(drawn), "secret": spaced, "address": address}  # noqa: S704  segno's own


def here() -> ResponseReturnValue:
    """Redirect to the page as it is now: the state has changed meanwhile, or the button Back was used."""
    return rendering.redirect_with("", url_for("dashboard.two_factor"))


@blueprint.post("/account/two-factor/start", endpoint="two_factor_start_write")
def start() -> ResponseReturnValue:
    if state() == ON:
        return here()
    form = CurrentPasswordForm(submitted_form(), owner=signed_in_user())
    if form.validate():
        proofs.ask_password(form)
    if form.problems:
        return render_step(OFF, form)
    begin_write(db.session)
    if state() != ON:
        second_factor.begin(signed_in_user())
    db.session.commit()
    return here()


@blueprint.post("/account/two-factor/confirm", endpoint="two_factor_confirm_write")
def confirm() -> ResponseReturnValue:
    """The recovery codes are in this one answer, and nowhere else."""
    form = CodeForm(submitted_form(), owner=signed_in_user())
    codes = codes_for(form, switch_on) if state() == BEGUN else []
    known = state()
    if codes:
        return codes_page(codes)
    if known == BEGUN:
        return render_step(BEGUN, form)
    if known == OFF:
        flash(str(RAN_OUT), "error")
    return here()


def switch_on(code: str, drawn: NewCodes) -> bool:
    is_on = second_factor.confirm(signed_in_user(), code, drawn)
    if is_on:
        security_email.current_security_mail().two_factor_is_on(signed_in_user())
    return is_on


def codes_for(form: CodeForm, service: Callable[[str, NewCodes], bool]) -> list[str]:
    """New recovery codes where `service` takes the code that was typed; else none, and `form` says why."""
    codes: list[str] = []

    def takes(code: str) -> bool:
        drawn = second_factor.draw_codes(signed_in_user(), code)
        begin_write(db.session)
        if drawn and service(code, drawn):
            codes.extend(drawn.shown)
        db.session.commit()
        return bool(codes)

    if form.validate():
        proofs.ask_code(form, takes)
    return codes


@blueprint.get("/account/two-factor/codes", endpoint="two_factor_codes")
def ask_renew() -> ResponseReturnValue:
    return render_step("renew", CodeForm(None, owner=signed_in_user())) if state() == ON else here()


@blueprint.get("/account/two-factor/off", endpoint="two_factor_off")
def ask_off() -> ResponseReturnValue:
    return render_step("leave", LeaveTwoFactorForm(None, owner=signed_in_user())) if state() == ON else here()


@blueprint.post("/account/two-factor/codes", endpoint="two_factor_codes_write")
def renew() -> ResponseReturnValue:
    if state() != ON:
        return here()
    form = CodeForm(submitted_form(), owner=signed_in_user())
    codes = codes_for(form, lambda code, drawn: second_factor.renew(signed_in_user(), code, drawn))
    return codes_page(codes, are_new=True) if codes else render_step("renew", form)


def codes_page(codes: list[str], *, are_new: bool = False) -> Response:
    file = "\n".join(("Waypost", signed_in_user().email, "", *codes, ""))
    return render_step("codes", None, codes=codes, file=file, are_new=are_new)


@blueprint.post("/account/two-factor/off", endpoint="two_factor_off_write")
def switch_off() -> ResponseReturnValue:
    if state() != ON:
        return here()
    form = LeaveTwoFactorForm(submitted_form(), owner=signed_in_user())
    if form.validate():
        proofs.ask_password(form)
    if not form.problems:
        proofs.ask_code(form, leave)
    if form.problems:
        return render_step("leave", form)
    return rendering.redirect_with(
        _("Two-factor is off."), url_for("dashboard.account", _anchor="two-factor")
    )


def leave(code: str) -> bool:
    typed = second_factor.read_typed(signed_in_user(), code)
    begin_write(db.session)
    is_right = second_factor.accept_code(signed_in_user(), typed) is not None
    if is_right:
        second_factor.forget(signed_in_user())
        security_email.current_security_mail().two_factor_is_off(signed_in_user())
    db.session.commit()
    return is_right
