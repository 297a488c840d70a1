"""How does an owner make short links, one or many, and change them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Blueprint, Response, g, make_response, render_template, request
from flask.typing import ResponseReturnValue

from app.dashboard import framing_check, typed
from app.dashboard.family import Family
from app.dashboard.guard import sent, user
from app.dashboard.link_choices import beside_form, controls, copied_link
from app.dashboard.link_filters import LISTING
from app.dashboard.link_rows import COLUMNS, beside_rows, places, short_address, short_url
from app.dashboard.preview import asked_of, has_password, previewed
from app.database import begin_write
from app.extensions import db
from app.forms import ResourceForm
from app.links import services
from app.links.forms import LinkForm
from app.links.models import Link
from app.ownership import get_owned
from app.sent import Sent


@dataclass(frozen=True, kw_only=True)
class LinkFamily(Family):
    """The pages of links: like any other's, one to make many of a list, and what a row can do."""

    def register(self, blueprint: Blueprint) -> None:
        super().register(blueprint)
        self.add(blueprint, "bulk", "/bulk", self.ask_bulk, self.create_bulk)
        self.add(
            blueprint, "destination", "/<int:id>/destination", self.ask_destination, self.update_destination
        )
        for rule, name in (
            ("/links/preview", "links_preview"),
            ("/links/<int:id>/preview", "links_preview_of"),
        ):
            blueprint.add_url_rule(rule, name, self.preview, methods=["POST"])
        blueprint.add_url_rule("/links/<int:id>/more", "links_more", self.show_more)
        blueprint.add_url_rule("/links/<int:id>/switch", "links_switch", self.switch, methods=["POST"])

    def preview(self, id: int | None = None) -> Response:
        """What is typed, as it would be: nothing of it is stored."""
        stored = get_owned(user(), Link, id) if id is not None else None
        form = self.read_form(asked_of(sent()), stored)
        form.validate()
        shown = previewed(form, has_password=has_password(sent(), stored))
        return make_response(render_template("dashboard/links/_preview.html", preview=shown, is_anew=True))

    def form_page(
        self, form: ResourceForm, status: int = 200, name: str = "form", heading: str = ""
    ) -> Response:
        """Beside it, what the link would be like."""
        if name == "form":
            g.preview = previewed(
                form, has_password=has_password(self.sent_now(), form.stored or copied_link())
            )
        return super().form_page(form, status, name, heading)

    def sent_now(self) -> Sent:
        return sent() if request.method == "POST" else Sent()

    def ask_new(self) -> Response:
        """An empty form; with `copy`, one like that link's; with `location_url`, one that has it already."""
        copied = copied_link()
        form = self.read_form(None, None, like=copied)
        address = request.args.get("location_url")
        if address and not copied:
            form["location_url"].data = typed.complete(address)
        return self.form_page(form, heading="Duplicate link" if copied else "")

    def create(self) -> ResponseReturnValue:
        form = self.read_form(typed.with_bulk(sent(), is_bulk=False), None)
        return self.write(form, lambda: services.create(user(), self.changes_of(form)), self.created)

    def changes_of(self, form: ResourceForm) -> dict[str, Any]:
        """What was sent; of a duplicate also what no control can carry over."""
        copied = copied_link()
        return {**(services.carried_over(copied) if copied else {}), **form.changes}

    def created(self, row: Link) -> ResponseReturnValue:
        """Its address goes to the clipboard at once."""
        message = f"{short_address(row)} is created."
        address = short_url(row)
        return self.done(message, partial(self.list_with, row), warning=self.warning([row]), copy=address)

    def show_more(self, id: int) -> Response:
        """What a row's menu shows, for who has no scripts."""
        row = get_owned(user(), Link, id)
        return self.page("more", row=row, heading=short_address(row), short_url=short_url(row), places=places)

    def switch(self, id: int) -> ResponseReturnValue:
        """Off when it is on, and the other way round."""
        begin_write(db.session)
        row = get_owned(user(), Link, id)
        services.update(row, {"is_enabled": not row.is_enabled})
        db.session.commit()
        return self.updated(row, f"{short_address(row)} is {'on' if row.is_enabled else 'off'}.")

    def ask_destination(self, id: int) -> Response:
        return self.destination_page(self.read_form(None, get_owned(user(), Link, id)))

    def update_destination(self, id: int) -> ResponseReturnValue:
        form = self.read_form(sent(), get_owned(user(), Link, id))
        change = lambda: services.update(get_owned(user(), Link, id), form.changes)  # noqa: E731
        return self.write(form, change, self.updated, self.destination_page)

    def destination_page(self, form: ResourceForm, status: int = 200) -> Response:
        heading = f"Destination of {short_address(form.stored)}"
        return self.page("destination", status, form=form, row=form.stored, heading=heading)

    def ask_bulk(self) -> Response:
        return self.bulk_page(self.read_form(None, None))

    def create_bulk(self) -> ResponseReturnValue:
        form = self.read_form(typed.with_bulk(sent(), is_bulk=True), None)
        return self.write(
            form, lambda: services.create_bulk(user(), form.changes), self.created_bulk, self.bulk_page
        )

    def created_bulk(self, rows: Sequence[Link]) -> ResponseReturnValue:
        some = "1 link is" if len(rows) == 1 else f"{len(rows):,} links are"
        # the newest on top, as in the list; a page of them is enough to see
        shown = lambda: self.list_with(*reversed(rows[-25:]))  # noqa: E731
        return self.done(f"{some} created.", shown, warning=self.warning(rows))

    def bulk_page(self, form: Any, status: int = 200) -> Response:
        return self.form_page(form, status, "bulk", "Create many links")


def register(blueprint: Blueprint) -> None:
    FAMILY.register(blueprint)


FAMILY = LinkFamily(
    name="links",
    one="link",
    many="links",
    title="Links",
    intro="Short addresses, and where they lead.",
    search_hint="Search by address, destination or title",
    is_kept=True,
    loss="Its short address stops working at once, and nobody else can have it for 30 days.",
    model=Link,
    form=LinkForm,
    services=services,
    listing=LISTING,
    title_of=short_address,
    controls=controls,
    beside_form=beside_form,
    beside_rows=beside_rows,
    typed=typed.link_fields,
    warning=framing_check.warning,
    columns=COLUMNS,
    new={"is_enabled": True, "http_status_code": 302},
)
