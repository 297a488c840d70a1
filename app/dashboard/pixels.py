"""Pages of tracking pixels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sqlalchemy import case, func, select

from app.core.extensions import db
from app.dashboard.links.choices import boxed, pixel_notes
from app.dashboard.shared.crud_views import Context, CrudViews, FamilyWords, crud_route
from app.dashboard.shared.list_params import Control
from app.dashboard.shared.words import words_for
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.links.models import Link, link_pixel
from app.pixels import services
from app.pixels.models import Pixel
from app.pixels.provider import all_providers
from app.pixels.services import LISTING, PixelForm


@crud_route("/pixels/", "list")
@crud_route("/pixels/new", "new")
@crud_route("/pixels/<int:id>", "edit")
@crud_route("/pixels/<int:id>/delete", "delete")
class PixelViews(CrudViews):
    """The pages of pixels."""

    name = "pixels"
    title = _l("Pixels")
    intro = _l("Tracking identifiers of providers, stored once and used on any link.")
    search_hint = _l("Search by name or identifier")
    words = FamilyWords(**words_for("families")[name])
    is_kept = True
    loss = _l("It is removed from every link that uses it. Their short links keep working.")
    model, form, services, listing = Pixel, PixelForm, services, LISTING

    def controls(self) -> list[Control]:
        labels = [(type_, provider.label) for type_, provider in all_providers().items()]
        return [Control("type", _("Provider"), [("", _("Any provider")), *labels])]

    def form_context(self, form: Any) -> Context:  # noqa: ARG002  as in CrudViews
        return {"providers": all_providers(), "notes": pixel_notes()}

    def rows_context(self, rows: Sequence[Pixel]) -> Context:
        counts = uses([row.id for row in rows])
        return {
            "providers": all_providers(),
            "uses": {id_: everywhere for id_, everywhere, _ in counts},
            "uses_here": {id_: here for id_, _, here in counts},
            "notes": {type_: note for type_, note in pixel_notes().items() if type_ in boxed()},
        }


def uses(ids: Sequence[int]) -> list[tuple[int, int, int]]:
    """Rows of pixel id, number of links with it, and number of those without a domain of the owner's own."""
    column, here = link_pixel.c.pixel_id, case((Link.domain_id.is_(None), 1), else_=0)
    counted = select(column, func.count(), func.sum(here)).join(Link, Link.id == link_pixel.c.link_id)
    return [*map(tuple, db.session.execute(counted.where(column.in_(ids)).group_by(column)))]


FAMILY = PixelViews.register()
