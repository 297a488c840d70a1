"""How does an owner make and end keys to the API?"""

from __future__ import annotations

from flask import Blueprint, Response, render_template, url_for
from flask.typing import ResponseReturnValue

from app import clock, own_addresses
from app.accounts import keys
from app.accounts.forms import KeyForm
from app.accounts.models import ApiKey
from app.dashboard import pages
from app.dashboard.family import Context
from app.dashboard.guard import sent, user
from app.dashboard.reauthentication import reauthenticated
from app.database import begin_write
from app.extensions import db
from app.ownership import get_owned

FOLDER = "dashboard/keys"


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/keys/", "keys", show_list)
    blueprint.add_url_rule("/keys/new", "keys_new", ask_new)
    make = reauthenticated(create, ask_new_again)
    blueprint.add_url_rule("/keys/new", "keys_new_write", make, methods=["POST"])
    blueprint.add_url_rule("/keys/<int:id>/revoke", "keys_revoke", ask_revoke)
    end = reauthenticated(revoke, ask_revoke)
    blueprint.add_url_rule("/keys/<int:id>/revoke", "keys_revoke_write", end, methods=["POST"])


def show_list() -> ResponseReturnValue:
    return answer("list", **rows())


def rows() -> Context:
    return {"keys": keys.list_keys(user()), "zone": pages.zone(), "now": clock.now(), "scopes": keys.SCOPES}


def ask_new() -> ResponseReturnValue:
    return form_page(KeyForm(None, owner=user()))


def ask_new_again() -> ResponseReturnValue:
    """With what was typed, where the password was missing or wrong."""
    return form_page(KeyForm(sent(), owner=user()))


def create() -> ResponseReturnValue:
    """The key's text is in this one answer and nowhere else: no redirect could carry it."""
    form = KeyForm(sent(), owner=user())
    if not form.validate():
        return form_page(form, 422)
    begin_write(db.session)
    row, text = keys.create_key(user(), **form.changes)
    db.session.commit()
    response = answer(
        "created", row=row, text=text, site=own_addresses.owners_site(), heading="Your new API key", **rows()
    )
    response.headers["HX-Trigger"] = "keys-changed"
    return response


def ask_revoke(id: int) -> ResponseReturnValue:
    return answer("revoke", row=get_owned(user(), ApiKey, id), heading="Revoke this API key?")


def revoke(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    row = get_owned(user(), ApiKey, id)
    keys.revoke_key(row)
    db.session.commit()
    message = f"{row.name} is revoked."
    if not pages.is_fragment():
        return pages.sent_on(message, url_for("dashboard.keys"))
    return pages.swapped(message, render_template(f"{FOLDER}/_list.html", **rows()), "#results", "innerHTML")


def form_page(form: KeyForm, status: int = 200) -> ResponseReturnValue:
    return answer("form", status, form=form, heading="Create an API key", scopes=keys.SCOPES)


def answer(name: str, status: int = 200, **context: object) -> Response:
    whole = f"{FOLDER}/list.html" if name == "list" else f"{FOLDER}/page.html"
    fragment = f"{FOLDER}/_{name}.html"
    return pages.page(whole, fragment, status=status, here="keys", **context)
