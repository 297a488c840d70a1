"""Statistics pages of a link, of a project, and of all links, with their CSV downloads.

The page itself only loads its scope. Each of its parts is requested separately, with its own query. Without
JavaScript (`whole`) they all come with the page.
"""

# see docs/decisions/2026-11-21-statistics-pages.md
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import wraps
from typing import Any, NamedTuple

from flask import Response, make_response, render_template

from app.analytics import export
from app.analytics.dimensions import TYPES
from app.analytics.statistics import make_report
from app.core import clock
from app.core.database import begin_read
from app.core.errors import FieldError, Invalid, NotFound, WaypostError
from app.core.extensions import db
from app.dashboard.imports.views import note_export
from app.dashboard.links.rows import short_url
from app.dashboard.shared import rendering
from app.dashboard.shared.blueprint import blueprint
from app.dashboard.shared.workspace import current_access
from app.dashboard.statistics import figures
from app.dashboard.statistics.lists import card, latest, links, listed, overview, week, world
from app.dashboard.statistics.menus import find_reach, menus
from app.dashboard.statistics.scopes import PageScope, all_links_scope, of_link, of_project
from app.dashboard.statistics.state import PageState, read
from app.i18n.messages import gettext as _
from app.i18n.messages import lazy_gettext as _l
from app.web.body import parse_query, read_params

Context = dict[str, Any]
Find = Callable[..., PageScope]


class PagePart(NamedTuple):
    """A part of the page. `views`: the parameters that change this part alone."""

    title: str
    loading: str  # what is read out while it is on its way
    answer: Callable[[PageScope, PageState], Context]
    template: str
    views: Sequence[str] = ()


def card_of(name: str, title: str, loading: str) -> PagePart:
    return PagePart(title, loading, lambda scope, state: card(scope, state, name), "card", (name,))


PARTS = {
    "overview": PagePart(
        _l("Overview"), _l("Overview is loading."), overview, "overview", ("metric", "interval")
    ),
    "links": PagePart(_l("Links"), _l("Links are loading."), links, "links"),
    "sources": card_of("sources", _l("Sources"), _l("Sources are loading.")),
    "destinations": card_of("destinations", _l("Destinations"), _l("Destinations are loading.")),
    "map": PagePart(_l("Map"), _l("Map is loading."), world, "map"),
    "places": card_of("places", _l("Locations"), _l("Locations are loading.")),
    "devices": card_of("devices", _l("Devices"), _l("Devices are loading.")),
    "campaigns": card_of("campaigns", _l("Campaigns"), _l("Campaigns are loading.")),
    "week": PagePart(_l("Hours of the week"), _l("Hours of the week are loading."), week, "week"),
    "latest": PagePart(_l("Latest clicks"), _l("Latest clicks are loading."), latest, "latest"),
}
OF_ONE = ("overview", "sources", "destinations", "map", "places", "devices", "campaigns", "week", "latest")
OF_MANY = (
    "overview",
    "links",
    "sources",
    "map",
    "places",
    "devices",
    "campaigns",
    "destinations",
    *OF_ONE[-2:],
)
REALTIME = ("overview", "latest")
EAGER_PARTS = 3  # parts that are visible without scrolling
CLICKS = "clicks"  # the download of single clicks


ALL = {"find": all_links_scope}
LINK = {"find": of_link}
PROJECT = {"find": of_project}


def with_scope(view: Callable[..., Response]) -> Callable[..., Response]:
    """Calls a view with the scope that its rule's `find` loads.

    Begins a read transaction, so that all queries see the same moment.
    """

    @wraps(view)
    def scoped(find: Find, id: int | None = None, **values: str) -> Response:
        begin_read(db.session)
        scope = find(current_access()) if id is None else find(current_access(), id)
        return view(scope, **values)

    return scoped


@blueprint.get("/statistics/", endpoint="statistics", defaults=ALL)
@blueprint.get("/links/<int:id>/statistics/", endpoint="links_statistics", defaults=LINK)
@blueprint.get("/projects/<int:id>/statistics/", endpoint="projects_statistics", defaults=PROJECT)
@with_scope
def show(scope: PageScope) -> Response:
    state, wrong = read_page_state(scope, read_params())
    if rendering.is_fragment():  # the parts keep their views
        state = replace(state, views=read_page_state(scope, read_current_parameters())[0].views)
    context = page_context(scope, state)
    context |= {
        **menus(scope, state, context["reach"]),
        "wrong": wrong,
        "parts": parts_of(scope, state),
    }
    if state.period != "realtime" and scope.is_unvisited():
        context |= {"is_unvisited": True, "short_url": short_url(scope.link) if scope.link else ""}
    response = rendering.render_page(
        "dashboard/statistics/page.html",
        "dashboard/statistics/_page.html",
        status=422 if wrong else 200,
        **context,
    )
    if rendering.is_fragment() and not wrong:
        response.headers["HX-Push-Url"] = scope.address(**state.query())
    return response


@blueprint.get("/statistics/<part>", endpoint="statistics_part", defaults=ALL)
@blueprint.get("/links/<int:id>/statistics/<part>", endpoint="links_statistics_part", defaults=LINK)
@blueprint.get("/projects/<int:id>/statistics/<part>", endpoint="projects_statistics_part", defaults=PROJECT)
@with_scope
def show_part(scope: PageScope, part: str) -> Response:
    return render_part(scope, part)


def render_part(scope: PageScope, name: str) -> Response:
    part = known(PARTS, name)
    state, wrong = read_page_state(scope, read_params())
    if is_turned := "turned" in read_params():
        mine = {view: shown for view, shown in state.views.items() if view in part.views}
        others = read_page_state(scope, read_current_parameters())[0].views
        state = replace(state, views={**{k: v for k, v in others.items() if k not in part.views}, **mine})
    if wrong:
        return render_statistics("_wrong", 422, scope, state, wrong=wrong)
    context = part.answer(scope, state)
    if context.get("is_old_news"):
        return make_response("", 204)
    response = render_statistics(
        f"_{part.template}", 200, scope, state, part=name, title=part.title, **context
    )
    if is_turned:
        response.headers["HX-Push-Url"] = scope.address(**state.query())
    return response


@blueprint.get("/statistics/list/<name>", endpoint="statistics_list", defaults=ALL)
@blueprint.get("/links/<int:id>/statistics/list/<name>", endpoint="links_statistics_list", defaults=LINK)
@blueprint.get(
    "/projects/<int:id>/statistics/list/<name>", endpoint="projects_statistics_list", defaults=PROJECT
)
@with_scope
def show_list(scope: PageScope, name: str) -> Response:
    """A whole breakdown, up to a hundred lines."""
    state, wrong = read_page_state(scope, read_params())
    context = page_context(scope, state)
    if name == "links":
        context |= {"heading": _("Links"), **links(scope, state, limit=100)}
    else:
        context |= {"heading": known(figures.WORDS, name).many, **listed(scope, state, name)}
    return rendering.render_page(
        "dashboard/statistics/all.html",
        "dashboard/statistics/_all.html",
        status=422 if wrong else 200,
        name=name,
        wrong=wrong,
        **context,
    )


@blueprint.get("/statistics/export.csv", endpoint="statistics_file", defaults=ALL)
@blueprint.get("/links/<int:id>/statistics/export.csv", endpoint="links_statistics_file", defaults=LINK)
@blueprint.get(
    "/projects/<int:id>/statistics/export.csv", endpoint="projects_statistics_file", defaults=PROJECT
)
@with_scope
def show_file(scope: PageScope) -> Response:
    state, wrong = read_page_state(scope, read_params())
    if wrong:
        raise Invalid(*wrong)
    return download(scope, state, read_params().get("type", "overview"))


def download(scope: PageScope, state: PageState, name: str) -> Response:
    """A report of the API with all its rows, or the single clicks. Raises NotFound."""
    if name not in {*TYPES, CLICKS}:
        raise NotFound("report")
    note_export("statistics.exported", report=name)
    begin_read(db.session)  # the audit entry has ended the transaction that the page began
    file = f"waypost-{name}-{state.span.start}-{state.span.end}.csv"
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    return Response(csv_lines(scope, state, name), headers=headers, content_type="text/csv; charset=utf-8")


def csv_lines(scope: PageScope, state: PageState, name: str) -> Iterator[str]:
    if name == CLICKS:
        return export.export_visits(db.engine, scope.statistics_query(state, "overview"))
    asked = scope.statistics_query(state, name, limit=export.EVERYTHING)
    found = make_report(db.session, asked)
    return export.export_report(found.rows, name)


def known(names: Any, name: str) -> Any:
    """The entry of this name. Raises NotFound."""
    if name not in names:
        raise NotFound("page")
    return names[name]


def read_page_state(scope: PageScope, parameters: Any) -> tuple[PageState, Sequence[FieldError]]:
    zone = rendering.owner_zone()
    today = clock.now().astimezone(zone).date()
    return read(parameters, today, scope.first(zone))


def read_current_parameters() -> dict[str, str]:
    """The parameters of the page on which htmx was used."""
    try:
        return dict(parse_query(rendering.current_query()))
    except WaypostError:  # the dashboard has no such page: the header is forged or broken
        return {}


def parts_of(scope: PageScope, state: PageState) -> list[tuple[str, PagePart, str]]:
    """The page's parts: name, part, and the htmx trigger that loads it."""
    names = REALTIME if state.period == "realtime" else OF_ONE if scope.link else OF_MANY
    return [(name, PARTS[name], "load" if n < EAGER_PARTS else "revealed") for n, name in enumerate(names)]


def page_context(scope: PageScope, state: PageState) -> Context:
    """Context of every template of the page."""
    return {
        "here": "links" if scope.link else "projects" if scope.project else "statistics",
        "scope": scope,
        "state": state,
        "zone": scope.zone,
        "now": clock.now(),
        "reach": find_reach(scope, state),
        "picture_file": figures.file_name(scope.title, state.span),
        "is_whole": "whole" in read_params(),
        "to": lambda other: scope.address(**other.query()),
        "share": figures.share,
        "span_words": figures.span_words,
        "compact": figures.compact,
        "part_of": lambda name: render_part(scope, name).get_data(as_text=True),
    }


def render_statistics(
    template: str, status: int, scope: PageScope, state: PageState, **context: Any
) -> Response:
    context |= page_context(scope, state)
    return make_response(render_template(f"dashboard/statistics/{template}.html", **context), status)
