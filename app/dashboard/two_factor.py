"""How does an owner have a code asked for at the sign-in, and how not any more?"""

from __future__ import annotations

import datetime as dt

import segno
from flask import Blueprint, Response, make_response, render_template, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from app.accounts import second_factor
from app.accounts.forms import CodeForm, CurrentPasswordForm, LeaveTwoFactorForm
from app.accounts.models import SecondFactor
from app.clock import now
from app.dashboard import pages, security_mail, tries
from app.dashboard.account import is_current
from app.dashboard.guard import sent, user
from app.database import begin_write
from app.extensions import db
from app.forms import ResourceForm

WRONG = "This code is not right, or was used already. The app shows another one every 30 seconds."
NOT_CURRENT = "This is not your current password."
SHOWN_FOR = dt.timedelta(minutes=15)  # a secret that nobody has confirmed


def register(blueprint: Blueprint) -> None:
    rule = blueprint.add_url_rule
    rule("/account/two-factor", "two_factor", show)
    rule("/account/two-factor/codes", "two_factor_codes", ask_renew)
    rule("/account/two-factor/off", "two_factor_off", ask_off)
    for name, view in (("start", start), ("confirm", confirm), ("codes", renew), ("off", switch_off)):
        rule(f"/account/two-factor/{name}", f"two_factor_{name}_write", view, methods=["POST"])


def show() -> ResponseReturnValue:
    return page()


def page(form: ResourceForm | None = None, status: int = 200) -> Response:
    """Off: a password begins it. Begun: the secret, and a code confirms it. On: what there is to do then."""
    factor = second_factor.find(user())
    if factor is None or not (factor.confirmed_datetime or factor.datetime > now() - SHOWN_FOR):
        return answer("off", form or CurrentPasswordForm(None, owner=user()), status)
    if factor.confirmed_datetime is None:
        return answer("begun", form or CodeForm(None, owner=user()), status, **told(factor))
    return answer("on", None, status, left=second_factor.codes_left(user()), factor=factor)


def answer(name: str, form: ResourceForm | None, status: int = 200, **context: object) -> Response:
    whole, part = "dashboard/account/two_factor.html", f"dashboard/account/_two_factor_{name}.html"
    body = render_template(whole, fragment=part, form=form, here="account", zone=pages.zone(), **context)
    return make_response(body, status)


def told(factor: SecondFactor) -> dict[str, object]:
    address = second_factor.address_of(factor, user().email)
    drawn = segno.make(address, error="m").svg_inline(scale=4, border=3, dark="#000", light="#fff")
    secret = factor.settings["secret"]
    spaced = " ".join(secret[start : start + 4] for start in range(0, len(secret), 4))
    return {"drawn": Markup(drawn), "secret": spaced, "address": address}  # noqa: S704  segno's own


def start() -> ResponseReturnValue:
    form = CurrentPasswordForm(sent(), owner=user())
    if form.validate() and not is_current(form.current_password.data):
        form.reject("current_password", NOT_CURRENT, "wrong_password")
    if form.problems and not second_factor.is_on(user()):
        return page(form, 422)
    begin_write(db.session)
    if not second_factor.is_on(user()):
        second_factor.begin(user())
    db.session.commit()
    return pages.sent_on("", url_for("dashboard.two_factor"))


def confirm() -> ResponseReturnValue:
    """The recovery codes are in this one answer, and nowhere else."""
    form = CodeForm(sent(), owner=user())
    codes = None
    if form.validate():
        tries.count_code(user().id)
        begin_write(db.session)
        codes = None if second_factor.is_on(user()) else second_factor.confirm(user(), form.code.data)
        if codes:
            security_mail.two_factor_is_on(user())
        db.session.commit()
    if codes is None:
        if second_factor.is_on(user()):
            return pages.sent_on("", url_for("dashboard.two_factor"))
        return refused(form)
    return codes_page(codes)


def ask_renew() -> ResponseReturnValue:
    return if_on("renew", CodeForm(None, owner=user()))


def ask_off() -> ResponseReturnValue:
    return if_on("leave", LeaveTwoFactorForm(None, owner=user()))


def if_on(name: str, form: ResourceForm) -> ResponseReturnValue:
    is_on = second_factor.is_on(user())
    return answer(name, form) if is_on else pages.sent_on("", url_for("dashboard.two_factor"))


def renew() -> ResponseReturnValue:
    form = CodeForm(sent(), owner=user())
    codes = None
    if form.validate():
        tries.count_code(user().id)
        begin_write(db.session)
        if second_factor.is_on(user()) and second_factor.takes_code(user(), form.code.data):
            codes = second_factor.new_recovery_codes(user())
        db.session.commit()
    if codes is None:
        if not form.problems:
            form.reject("code", WRONG, "wrong_code")
        return answer("renew", form, 422)
    return codes_page(codes)


def refused(form: CodeForm) -> Response:
    if not form.problems:
        form.reject("code", WRONG, "wrong_code")
    return page(form, 422)


def codes_page(codes: list[str]) -> Response:
    tries.forgive_code(user().id)
    file = "\n".join(("Waypost", user().email, "", *codes, ""))
    return answer("codes", None, codes=codes, file=file)


def switch_off() -> ResponseReturnValue:
    form = LeaveTwoFactorForm(sent(), owner=user())
    if form.validate() and not is_current(form.current_password.data):
        form.reject("current_password", NOT_CURRENT, "wrong_password")
    if form.problems:
        return answer("leave", form, 422)
    tries.count_code(user().id)
    begin_write(db.session)
    is_right = second_factor.opens(user(), form.code.data) is not None
    if is_right:
        second_factor.forget(user())
        security_mail.two_factor_is_off(user())
    db.session.commit()
    if not is_right:
        form.reject("code", WRONG, "wrong_code")
        return answer("leave", form, 422)
    tries.forgive_code(user().id)
    return pages.sent_on("Two-factor is off.", url_for("dashboard.account", _anchor="two-factor"))
