"""How does an owner get back what was deleted, or have it gone for good?"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from flask import Blueprint, Response, flash, make_response, render_template, url_for
from flask.typing import ResponseReturnValue

from app import clock
from app.dashboard import asked, handlers, links, pages, pixels
from app.dashboard.family import Family, note
from app.dashboard.guard import sent, user
from app.dashboard.link_choices import usable_domains
from app.dashboard.link_rows import own_host
from app.dashboard.reauthentication import reauthenticated
from app.database import begin_write
from app.errors import AliasTaken, Invalid
from app.extensions import db
from app.failures import status_of
from app.links import services as link_services
from app.links.emptying import empty_trash
from app.links.forms import RestoreForm
from app.links.models import Link
from app.lists import Listing, find_page
from app.notifications import services as handler_services
from app.pixels import services as pixel_services
from app.trash import services
from app.trash.models import Trashed

LISTING = Listing(model=Trashed, filters={}, orders={})
NEWEST_FIRST = {"order_type": "DESC"}


class Kind(NamedTuple):
    """What the trash shows of one kind of row, and who takes it out again."""

    family: Family
    icon: str
    restore: Callable[[Trashed], Any]


KINDS = {
    kind.family.model.__tablename__: kind
    for kind in (
        Kind(links.FAMILY, "link", link_services.restore),
        Kind(pixels.FAMILY, "radio", pixel_services.restore),
        Kind(handlers.FAMILY, "bell", handler_services.restore),
    )
}
LINK = Link.__tablename__


def register(blueprint: Blueprint) -> None:
    blueprint.add_url_rule("/trash/", "trash", show)
    for name, rule, ask, write in (
        ("restore", "/trash/<int:id>/restore", ask_restore, restore),
        ("erase", "/trash/<int:id>/delete", ask_erase, reauthenticated(erase, ask_erase)),
        ("empty", "/trash/empty", ask_empty, reauthenticated(empty, ask_empty)),
    ):
        blueprint.add_url_rule(rule, f"trash_{name}", ask)
        blueprint.add_url_rule(rule, f"trash_{name}_write", write, methods=["POST"])
    blueprint.add_url_rule("/trash/undo/<batch>", "trash_undo", undo, methods=["POST"])


def page(name: str, status: int = 200, **context: Any) -> Response:
    whole = "dashboard/trash/list.html" if name == "list" else "dashboard/trash/page.html"
    return pages.page(whole, f"dashboard/trash/_{name}.html", status=status, here="trash", **context)


def show() -> Response:
    return page("list", **listed(asked.of_request()))


def listed(parameters: dict[str, str]) -> dict[str, Any]:
    kept = {name: value for name, value in parameters.items() if name == "page" and value.isdigit()}
    return {
        "found": find_page(LISTING, user().id, {**NEWEST_FIRST, **kept}),
        "kinds": KINDS,
        "now": clock.now(),
        "zone": pages.zone(),
    }


# -------------------------------------------------------------------- back


def ask_restore(id: int) -> Response:
    return restore_page(services.find(user().id, id), restore_form(None))


def restore_page(one: Trashed, form: RestoreForm, status: int = 200) -> Response:
    services.require_readable([one])
    row = one.rows[one.kind][0]
    if one.kind == LINK and not sent_any(form):
        form.url.data, form.domain_id.data = row["url"], row["domain_id"]
    return page(
        "restore",
        status,
        one=one,
        form=form,
        kind=KINDS[one.kind],
        is_link=one.kind == LINK,
        domains=usable_domains(None),
        own_host=own_host(),
        heading=f"Restore this {KINDS[one.kind].family.one}",
    )


def restore_form(fields: Any) -> RestoreForm:
    return RestoreForm(fields, owner=user())


def sent_any(form: RestoreForm) -> bool:
    return bool(form.url.sent or form.domain_id.sent)


def restore(id: int) -> ResponseReturnValue:
    """As it was; or, where that can't be, ask for another place, with what is wrong."""
    form = restore_form(sent())
    try:
        form.require_valid()
        begin_write(db.session)
        one = services.find(user().id, id)
        services.require_readable([one])
        kind = KINDS[one.kind]
        row = link_services.restore(one, form.changes) if one.kind == LINK else kind.restore(one)
        message = f"{kind.family.title_of(row)} is back."
        db.session.commit()
    except (Invalid, AliasTaken) as error:
        note(form, error)
        answer = restore_page(services.find(user().id, id), form, status_of(error))
        answer.headers["HX-Retarget"], answer.headers["HX-Reswap"] = "#sheet-box", "innerHTML"
        return answer
    return done(message)


def undo(batch: str) -> ResponseReturnValue:
    """Put back what was deleted at once; what can't be where it was stays in the trash."""
    begin_write(db.session)
    found = services.find_batch(user().id, batch)
    some_links = [one for one in found if one.kind == LINK]
    back, stuck = link_services.restore_many(some_links)
    others = [(KINDS[one.kind], KINDS[one.kind].restore(one)) for one in found if one.kind != LINK]
    names = [links.FAMILY.title_of(row) for row in back[:1]]
    names += [kind.family.title_of(row) for kind, row in others]
    db.session.commit()
    message, warning = told(len(back) + len(others), names, stuck)
    family = others[0][0].family if others else links.FAMILY
    return shown_again(family, [*back[:25], *(row for _, row in others)], message, warning)


def told(count: int, names: Sequence[str], stuck: Sequence[Trashed]) -> tuple[str, str | None]:
    message = f"{names[0]} is back." if count == 1 else f"{count:,} are back." if count else ""
    if not stuck:
        return message, None
    few = f"{stuck[0].name} needs" if len(stuck) == 1 else f"{len(stuck):,} need"
    return message, f"{few} another short address. Restore from the trash to choose one."


def shown_again(
    family: Family, rows: Sequence[Any], message: str, warning: str | None
) -> ResponseReturnValue:
    """Where the person looks at that very list, with the rows on top; anywhere else the page once more."""
    if not pages.is_fragment():
        return pages.sent_on(message, family.address(), warning)
    if pages.is_at(family.address()):
        return pages.swapped(message, family.list_with(*rows), "#results", "innerHTML", warning)
    for text, category in ((message, "message"), (warning, "error")):
        if text:
            flash(text, category)
    return make_response("", 200, {"HX-Refresh": "true"})


# -------------------------------------------------------------------- gone


def ask_erase(id: int) -> Response:
    one = services.find(user().id, id)
    heading = f"Delete this {KINDS[one.kind].family.one} for good?"
    return page("erase", one=one, heading=heading)


def erase(id: int) -> ResponseReturnValue:
    begin_write(db.session)
    name = services.find(user().id, id).name
    empty_trash(user().id, [id])
    db.session.commit()
    return done(f"{name} is gone.")


def ask_empty() -> Response:
    return page("empty", heading="Empty the trash?")


def empty() -> ResponseReturnValue:
    begin_write(db.session)
    empty_trash(user().id)
    db.session.commit()
    return done("The trash is empty.")


def done(message: str) -> ResponseReturnValue:
    if not pages.is_fragment():
        return pages.sent_on(message, url_for("dashboard.trash"))
    parameters = asked.of_current_page(url_for("dashboard.trash"))
    part = render_template("dashboard/trash/_list.html", in_dialog=True, **listed(parameters))
    return pages.swapped(message, part, "#results", "innerHTML")
