"""Pages where an owner adds and removes the authenticator app and renews the recovery codes."""

from __future__ import annotations

from collections.abc import Callable

import segno
from flask import Response, flash, make_response, render_template, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from app.accounts import second_factor
from app.accounts.forms import CodeForm, CurrentPasswordForm, LeaveTwoFactorForm
from app.accounts.models import SecondFactor, User
from app.accounts.second_factor import NewCodes
from app.core.database import begin_write
from app.core.extensions import db
from app.dashboard.auth import reauthentication
from app.dashboard.auth.access import current_security_mail, signed_in_user, submitted_form
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import ResourceForm

OFF, BEGUN, ON = "off", "begun", "on"
RAN_OUT = _l("The key that was shown has expired. Please begin again.")


def state() -> str:
    """Of the app: OFF (the password begins the set-up), BEGUN (the secret waits for a code) or ON."""
    if second_factor.has_app(signed_in_user()):
        return ON
    return BEGUN if second_factor.find_unconfirmed(signed_in_user()) else OFF


@blueprint.get("/account/two-factor", endpoint="two_factor")
def show() -> ResponseReturnValue:
    known = state()
    if known == ON:
        factor, left = second_factor.find(signed_in_user()), second_factor.codes_left(signed_in_user())
        return render_step("on", None, factor=factor, left=left)
    form = CodeForm if known == BEGUN else CurrentPasswordForm
    left = second_factor.codes_left(signed_in_user())
    return render_step(known, form(None, owner=signed_in_user()), left=left)


def render_step(name: str, form: ResourceForm | None, **context: object) -> Response:
    """One step of the page, with what is wrong with its form."""
    whole, part = "dashboard/account/two_factor.html", f"dashboard/account/_two_factor_{name}.html"
    context |= setup_context() if name == BEGUN else {}
    context["has_app"] = second_factor.has_app(signed_in_user())
    context["has_passkey"] = second_factor.has_passkey(signed_in_user())
    body = render_template(
        whole, fragment=part, form=form, here="account", zone=rendering.owner_zone(), **context
    )
    return make_response(body, reauthentication.status_of_proof(form) if form and form.problems else 200)


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
    reauthentication.validate_with_password(form)
    if form.problems:
        return render_step(OFF, form, left=second_factor.codes_left(signed_in_user()))
    begin_write(db.session)
    if state() != ON:
        second_factor.begin(signed_in_user())
    db.session.commit()
    return here()


@blueprint.post("/account/two-factor/confirm", endpoint="two_factor_confirm_write")
def confirm() -> ResponseReturnValue:
    """The recovery codes are in this one answer, and nowhere else."""
    form = CodeForm(submitted_form(), owner=signed_in_user())
    was_on = second_factor.is_on(signed_in_user())
    codes = codes_for(form, switch_on) if state() == BEGUN else []
    known = state()
    if codes:
        return codes_page(codes, are_new=was_on)
    if known == BEGUN:
        return render_step(BEGUN, form)
    if known == OFF:
        flash(str(RAN_OUT), "error")
    return here()


def switch_on(code: str, drawn: NewCodes) -> bool:
    is_on = second_factor.confirm(signed_in_user(), code, drawn)
    if is_on:
        current_security_mail().two_factor_is_on(signed_in_user())
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
        reauthentication.ask_code(form, takes)
    return codes


@blueprint.get("/account/two-factor/codes", endpoint="two_factor_codes")
def ask_renew() -> ResponseReturnValue:
    if not second_factor.is_on(signed_in_user()):
        return here()
    return render_step("renew", renewal_form()(None, owner=signed_in_user()))


def renewal_form() -> type[CodeForm | CurrentPasswordForm]:
    """A code of the app; without an app the password, or a passkey."""
    return CodeForm if state() == ON else CurrentPasswordForm


@blueprint.get("/account/two-factor/off", endpoint="two_factor_off")
def ask_off() -> ResponseReturnValue:
    return render_step("leave", LeaveTwoFactorForm(None, owner=signed_in_user())) if state() == ON else here()


@blueprint.post("/account/two-factor/codes", endpoint="two_factor_codes_write")
def renew() -> ResponseReturnValue:
    if not second_factor.is_on(signed_in_user()):
        return here()
    form = renewal_form()(submitted_form(), owner=signed_in_user())
    codes = renew_by_code(form) if isinstance(form, CodeForm) else renew_by_proof(form)
    return codes_page(codes, are_new=True) if codes else render_step("renew", form)


def renew_by_code(form: CodeForm) -> list[str]:
    return codes_for(form, lambda code, drawn: second_factor.renew(signed_in_user(), code, drawn))


def renew_by_proof(form: CurrentPasswordForm) -> list[str]:
    """New codes for a user without an app, who has typed the password or used a passkey; else none."""
    reauthentication.validate_with_password(form)
    if form.problems:
        return []
    drawn = second_factor.make_codes(signed_in_user())
    begin_write(db.session)
    second_factor.replace_codes(signed_in_user(), drawn)
    db.session.commit()
    return drawn.shown


def codes_page(codes: list[str], *, are_new: bool = False) -> Response:
    file = "\n".join(("Waypost", signed_in_user().email, "", *codes, ""))
    return render_step("codes", None, codes=codes, file=file, are_new=are_new)


@blueprint.post("/account/two-factor/off", endpoint="two_factor_off_write")
def switch_off() -> ResponseReturnValue:
    if state() != ON:
        return here()
    form = LeaveTwoFactorForm(submitted_form(), owner=signed_in_user())
    reauthentication.validate_with_password(form)
    if not form.problems and form.passkey.data:
        leave()
    elif not form.problems:
        reauthentication.ask_code(form, leave)
    if form.problems:
        return render_step("leave", form)
    is_off = not second_factor.is_on(signed_in_user())
    message = _("Two-factor is off.") if is_off else _("The authenticator app is removed.")
    return rendering.redirect_with(message, url_for("dashboard.account", _anchor="two-factor"))


def leave(code: str | None = None) -> bool:
    """Remove the app, given a valid code; without one a passkey has proved who this is."""
    user = signed_in_user()
    typed = None if code is None else second_factor.read_typed(user, code)
    begin_write(db.session)
    is_right = typed is None or second_factor.accept_code(user, typed) is not None
    if is_right:
        second_factor.remove_app(user)
        tell_removed(user)
    db.session.commit()
    return is_right


def tell_removed(user: User) -> None:
    mail = current_security_mail()
    if second_factor.is_on(user):
        mail.app_removed(user)
    else:
        mail.two_factor_is_off(user)
