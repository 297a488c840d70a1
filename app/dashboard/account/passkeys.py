"""Pages where an owner adds, renames and removes passkeys."""

from __future__ import annotations

import datetime as dt
from typing import Any

from flask import Response, flash, render_template, request, session, url_for
from flask.typing import ResponseReturnValue
from markupsafe import Markup

from app.accounts import passkeys, second_factor
from app.accounts.forms import (
    CurrentPasswordForm,
    NewPasskeyForm,
    PasskeyNameForm,
    RemoveLastPasskeyForm,
    RemovePasskeyForm,
)
from app.accounts.models import Passkey, User
from app.accounts.passkey_ceremonies import ADD, PROOF, NewCredential, PasskeyRefused, verify_registration
from app.core.clock import now
from app.core.database import begin_write
from app.core.errors import Invalid, NotFound
from app.core.extensions import db
from app.dashboard.account import two_factor
from app.dashboard.auth import reauthentication
from app.dashboard.auth.access import current_security_mail, signed_in_user, submitted_form
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.i18n.messages import gettext as _
from app.redirects.user_agent import parse_device

FOLDER = "dashboard/account"
# in the session once the password was typed: until when a passkey can be added, and under which handle
BEGUN, BEGUN_LIFETIME = "adding_passkey", dt.timedelta(minutes=10)


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
    found = session.get(BEGUN)
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
def start() -> ResponseReturnValue:
    form = CurrentPasswordForm(submitted_form(), owner=signed_in_user())
    reauthentication.validate_with_password(form)
    if form.problems:
        return start_page(form)
    until = int((now() + BEGUN_LIFETIME).timestamp())
    session[BEGUN] = {"until": until, "handle": passkeys.handle_of(signed_in_user())}
    return rendering.redirect_with("", url_for("dashboard.passkeys_new"))


@blueprint.get("/account/passkeys/options", endpoint="passkeys_options")
def options() -> ResponseReturnValue:
    handle = handle_begun()
    if handle is None:
        raise NotFound("passkey")
    known = reauthentication.passkey_ceremony(ADD, signed_in_user().id)
    return {"create": passkeys.registration_options(signed_in_user(), known, handle)}


@blueprint.post("/account/passkeys/new", endpoint="passkeys_new_write")
def add() -> ResponseReturnValue:
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
    session.pop(BEGUN, None)
    if codes:
        return two_factor.codes_page(codes)
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
def rename(id: int) -> ResponseReturnValue:
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
def remove(id: int) -> ResponseReturnValue:
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
