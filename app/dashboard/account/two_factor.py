"""Pages of an owner's second factors: the authenticator app, passkeys and recovery codes."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from typing import Any

import segno
from flask import Response, flash, make_response, render_template, request, session, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from app.accounts import passkeys, second_factor
from app.accounts.forms import (
    CodeForm,
    CurrentPasswordForm,
    LeaveTwoFactorForm,
    NewPasskeyForm,
    PasskeyNameForm,
    RemoveLastPasskeyForm,
    RemovePasskeyForm,
)
from app.accounts.models import Passkey, SecondFactor, User
from app.accounts.passkey_ceremonies import ADD, PROOF, NewCredential, PasskeyRefused, verify_registration
from app.accounts.second_factor import NewCodes
from app.core.clock import now
from app.core.database import begin_write
from app.core.errors import Invalid, NotFound
from app.core.extensions import db
from app.dashboard.auth import reauthentication
from app.dashboard.auth.access import current_security_mail, signed_in_user, submitted_form
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.input.forms import ResourceForm
from app.redirects.user_agent import parse_device

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


# --- passkeys: added, renamed and removed


FOLDER = "dashboard/account"
# in the session once the password was typed: until when a passkey can be added, and under which handle
PASSKEY_BEGUN, PASSKEY_BEGUN_LIFETIME = "adding_passkey", dt.timedelta(minutes=10)


def owner() -> User:
    """The row itself: `current_user` is a proxy, which can't be read again."""
    return db.session.get_one(User, signed_in_user().id)


@blueprint.app_template_global()
def passkeys_section() -> Markup:
    """The section for the account page. As a template global it needs nothing from that page's view."""
    rows = passkeys.list_passkeys(signed_in_user())
    body = render_template(
        f"{FOLDER}/_passkeys.html",
        passkeys=rows,
        problem=reauthentication.problem_here(),
        rp_id=reauthentication.rp_id(),
        is_full=len(rows) >= passkeys.MAX_PASSKEYS,
        zone=rendering.owner_zone(),
    )
    return Markup(body)  # noqa: S704  a template of ours


@blueprint.get("/account/passkeys/proof", endpoint="passkeys_proof")
def proof_options() -> ResponseReturnValue:
    """Options of a passkey that stands in for the password."""
    known = reauthentication.passkey_ceremony(PROOF, signed_in_user().id)
    return {"get": passkeys.authentication_options(known, signed_in_user())}


# --------------------------------------------------------------------- adding
@blueprint.get("/account/passkeys/new", endpoint="passkeys_new")
def ask_new() -> ResponseReturnValue:
    """First the password, then the passkey."""
    if handle_begun() is None:
        return start_page(CurrentPasswordForm(None, owner=signed_in_user()))
    return create_page(NewPasskeyForm(None, owner=signed_in_user()))


def handle_begun() -> str | None:
    """The handle for the passkey that this session may add now."""
    found = session.get(PASSKEY_BEGUN)
    is_begun = isinstance(found, dict) and found["until"] > now().timestamp()
    return str(found["handle"]) if found and is_begun else None


def start_page(form: CurrentPasswordForm) -> Response:
    return render_page("start", reauthentication.status_of_proof(form) if form.problems else 200, form=form)


def create_page(form: NewPasskeyForm, status: int = 200, problem: str = "") -> Response:
    return render_page("create", status, form=form, problem=problem, proposed=browser_name())


def render_page(name: str, status: int = 200, **context: Any) -> Response:
    return rendering.render_page(
        f"{FOLDER}/page_of.html",
        f"{FOLDER}/_passkey_{name}.html",
        status=status,
        here="account",
        **{
            "heading": _("Add a passkey"),
            "problem_here": reauthentication.problem_here(),
            "is_first": not second_factor.is_on(signed_in_user()),
            **context,
        },
    )


@blueprint.post("/account/passkeys/start", endpoint="passkeys_start_write")
def start_passkey() -> ResponseReturnValue:
    form = CurrentPasswordForm(submitted_form(), owner=signed_in_user())
    reauthentication.validate_with_password(form)
    if form.problems:
        return start_page(form)
    until = int((now() + PASSKEY_BEGUN_LIFETIME).timestamp())
    session[PASSKEY_BEGUN] = {"until": until, "handle": passkeys.handle_of(signed_in_user())}
    return rendering.redirect_with("", url_for("dashboard.passkeys_new"))


@blueprint.get("/account/passkeys/options", endpoint="passkeys_options")
def passkey_options() -> ResponseReturnValue:
    handle = handle_begun()
    if handle is None:
        raise NotFound("passkey")
    known = reauthentication.passkey_ceremony(ADD, signed_in_user().id)
    return {"create": passkeys.registration_options(signed_in_user(), known, handle)}


@blueprint.post("/account/passkeys/new", endpoint="passkeys_new_write")
def add_passkey() -> ResponseReturnValue:
    """Add the passkey. With the first second factor, the recovery codes are in this one answer."""
    handle = handle_begun()
    if handle is None:
        flash(_("Type your password once more: this took longer than 10 minutes."), "error")
        return rendering.redirect_with("", url_for("dashboard.passkeys_new"))
    form = NewPasskeyForm(submitted_form(), owner=signed_in_user())
    if not form.validate():
        return create_page(form, 422)
    try:
        made = verify_registration(
            form.passkey.data, reauthentication.passkey_ceremony(ADD, signed_in_user().id)
        )
        codes = store(made, form.name.data or "", handle)
    except (PasskeyRefused, Invalid) as refused:
        db.session.rollback()
        return create_page(form, 422, str(refused))
    session.pop(PASSKEY_BEGUN, None)
    if codes:
        return codes_page(codes)
    return back(_("The passkey is added."))


def store(made: NewCredential, typed: str, handle: str) -> list[str]:
    """Store it, with recovery codes where there was no second factor; returns these. Commits."""
    user = owner()
    drawn = None if second_factor.is_on(user) else second_factor.make_codes(user)
    device = parse_device(request.headers.get("User-Agent", ""))
    proposed = passkeys.proposed_name(made, device.browser_name, device.os_name)
    begin_write(db.session)
    row = passkeys.add(user, made, typed or proposed or _("Passkey"), handle, drawn)
    current_security_mail().passkey_added(user, row.name)
    db.session.commit()
    return drawn.shown if drawn else []


def browser_name() -> str:
    device = parse_device(request.headers.get("User-Agent", ""))
    return ", ".join(filter(None, (device.browser_name, device.os_name)))


# ------------------------------------------------------- renaming and removing
def own(id: int) -> Passkey:
    return passkeys.find_own(signed_in_user(), id)


@blueprint.get("/account/passkeys/<int:id>/rename", endpoint="passkeys_rename")
def ask_rename(id: int) -> ResponseReturnValue:
    row = own(id)
    return rename_page(row, PasskeyNameForm(None, owner=signed_in_user(), data={"passkey_name": row.name}))


def rename_page(row: Passkey, form: PasskeyNameForm, status: int = 200) -> Response:
    return render_page("rename", status, row=row, form=form, heading=_("Rename this passkey"))


@blueprint.post("/account/passkeys/<int:id>/rename", endpoint="passkeys_rename_write")
def rename_passkey(id: int) -> ResponseReturnValue:
    row = own(id)
    form = PasskeyNameForm(submitted_form(), owner=signed_in_user())
    if not form.validate():
        return rename_page(row, form, 422)
    begin_write(db.session)
    passkeys.rename(row, form.passkey_name.data or row.name)
    db.session.commit()
    return back(_("The passkey is renamed."))


def removal_form(row: Passkey, sent: Any) -> RemovePasskeyForm:
    """The last second factor is as hard to remove as two-factor is to turn off: with a code, too."""
    is_last = passkeys.is_last_factor(row, signed_in_user())
    return (RemoveLastPasskeyForm if is_last else RemovePasskeyForm)(sent, owner=signed_in_user())


@blueprint.get("/account/passkeys/<int:id>/remove", endpoint="passkeys_remove")
def ask_remove(id: int) -> ResponseReturnValue:
    row = own(id)
    return remove_page(row, removal_form(row, None))


def remove_page(row: Passkey, form: RemovePasskeyForm) -> Response:
    status = reauthentication.status_of_proof(form) if form.problems else 200
    return render_page(
        "remove",
        status,
        row=row,
        form=form,
        is_last=isinstance(form, RemoveLastPasskeyForm),
        heading=_("Remove this passkey?"),
    )


@blueprint.post("/account/passkeys/<int:id>/remove", endpoint="passkeys_remove_write")
def remove_passkey(id: int) -> ResponseReturnValue:
    row = own(id)
    form = removal_form(row, submitted_form())
    reauthentication.validate_with_password(form, "removal_password")
    if not form.problems:
        finish_removal(form, row)
    if form.problems:
        return remove_page(row, form)
    return back(_("The passkey is removed."))


def finish_removal(form: RemovePasskeyForm, row: Passkey) -> None:
    """Remove it; the last second factor only with a code, unless a passkey has proved who this is."""
    if isinstance(form, RemoveLastPasskeyForm) and not form.passkey.data:
        reauthentication.ask_code(form, lambda code: take_away(row, code))
    else:
        take_away(row)


def take_away(row: Passkey, code: str | None = None) -> bool:
    user, name = owner(), row.name
    typed = None if code is None else second_factor.read_typed(user, code)
    begin_write(db.session)
    is_right = typed is None or second_factor.accept_code(user, typed) is not None
    if is_right:
        passkeys.remove(row, user)
        is_off = not second_factor.is_on(user)
        current_security_mail().passkey_removed(user, name, is_off=is_off)
    db.session.commit()
    return is_right


def back(message: str) -> ResponseReturnValue:
    return rendering.leave_page(message, url_for("dashboard.account"), "passkeys")
