"""How does an owner make short links, one or many, and change them?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from flask import Blueprint, Response
from flask.typing import ResponseReturnValue

from app.dashboard import framing_check, typed
from app.dashboard.family import Family
from app.dashboard.guard import sent, user
from app.dashboard.link_choices import beside_form, controls
from app.dashboard.link_rows import beside_rows, short_address
from app.links import services
from app.links.forms import LinkForm
from app.links.lists import LISTING
from app.links.models import Link


@dataclass(frozen=True, kw_only=True)
class LinkFamily(Family):
    """The pages of links: like any other's, and one to make many from a list of addresses."""

    def register(self, blueprint: Blueprint) -> None:
        super().register(blueprint)
        self.add(blueprint, "bulk", "/bulk", self.ask_bulk, self.create_bulk)

    def ask_bulk(self) -> Response:
        return self.bulk_page(self.read_form(None, None))

    def create_bulk(self) -> ResponseReturnValue:
        form = self.read_form(sent(), None)
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
    new={"is_enabled": True, "http_status_code": 302},
)
