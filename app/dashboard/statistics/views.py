"""How does an owner see what happened to a link, to a project's links, or to all of them?

The page itself asks for nothing but whose links they are; each of its parts comes by itself, with its own
question. Without JavaScript (`whole`) they all come with the page.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from flask import Blueprint, Response, make_response, render_template

from app import clock
from app.accounts.models import User
from app.bodies import parse_query, read_query
from app.dashboard import pages
from app.dashboard.guard import user
from app.dashboard.link_rows import short_url
from app.dashboard.statistics import figures, words
from app.dashboard.statistics.downloads import download
from app.dashboard.statistics.latest import latest
from app.dashboard.statistics.lists import card, links, listed, world
from app.dashboard.statistics.menus import menus
from app.dashboard.statistics.overview import overview
from app.dashboard.statistics.scopes import ALL, LINK, PROJECT, Scope, everything, of_link, of_project
from app.dashboard.statistics.state import State, read
from app.dashboard.statistics.week import week
from app.database import begin_read
from app.errors import FieldError, Invalid, NotThere, WaypostError
from app.extensions import db

Context = dict[str, Any]
Find = Callable[..., Scope]


class Part(NamedTuple):
    """A part of the page. `views` are what of the address changes this part alone."""

    title: str
    answer: Callable[[Scope, State], Context]
    template: str
    views: Sequence[str] = ()


def card_of(name: str, title: str) -> Part:
    return Part(title, lambda scope, state: card(scope, state, name), "card", (name,))


PARTS = {
    "overview": Part("Overview", overview, "overview", ("metric", "interval")),
    "links": Part("Links", links, "links"),
    "sources": card_of("sources", "Sources"),
    "destinations": card_of("destinations", "Destinations"),
    "map": Part("Map", world, "map"),
    "places": card_of("places", "Places"),
    "devices": card_of("devices", "Devices"),
    "campaigns": card_of("campaigns", "Campaigns"),
    "week": Part("Hours of the week", week, "week"),
    "latest": Part("Latest clicks", latest, "latest"),
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
AT_ONCE = 3  # parts that are seen before anybody scrolls


def register(blueprint: Blueprint) -> None:
    add(blueprint, ALL, "/statistics/", lambda: everything(asking()))
    add(blueprint, LINK, "/links/<int:id>/statistics/", lambda **ids: of_link(asking(), **ids))
    add(blueprint, PROJECT, "/projects/<int:id>/statistics/", lambda **ids: of_project(asking(), **ids))


def asking() -> User:
    """Who asks; what follows is read as of one moment."""
    begin_read(db.session)
    return user()


def add(blueprint: Blueprint, endpoint: str, rule: str, find: Find) -> None:
    blueprint.add_url_rule(rule, endpoint, lambda **ids: show(find(**ids)))
    blueprint.add_url_rule(
        f"{rule}list/<name>", f"{endpoint}_list", lambda name, **ids: show_list(find(**ids), name)
    )
    blueprint.add_url_rule(f"{rule}export.csv", f"{endpoint}_file", lambda **ids: show_file(find(**ids)))
    blueprint.add_url_rule(
        f"{rule}<part>", f"{endpoint}_part", lambda part, **ids: show_part(find(**ids), part)
    )


def show(scope: Scope) -> Response:
    state, wrong = asked(scope, dict(read_query()))
    if pages.is_fragment():  # the parts stay as they were turned
        state = replace(state, views=asked(scope, current())[0].views)
    context = {**around(scope, state), **menus(scope, state), "wrong": wrong, "parts": parts_of(scope, state)}
    if state.period != "realtime" and scope.is_unvisited():
        context |= {"is_unvisited": True, "short_url": short_url(scope.link) if scope.link else ""}
    response = pages.page(
        "dashboard/statistics/page.html",
        "dashboard/statistics/_page.html",
        status=422 if wrong else 200,
        **context,
    )
    if pages.is_fragment() and not wrong:
        response.headers["HX-Push-Url"] = scope.address(**state.query())
    return response


def show_part(scope: Scope, name: str) -> Response:
    part = known(PARTS, name)
    state, wrong = asked(scope, dict(read_query()))
    if is_turned := "turned" in dict(read_query()):
        mine = {view: shown for view, shown in state.views.items() if view in part.views}
        others = asked(scope, current())[0].views
        state = replace(state, views={**{k: v for k, v in others.items() if k not in part.views}, **mine})
    if wrong:
        return answered("_wrong", 422, scope, state, wrong=wrong)
    context = part.answer(scope, state)
    if context.get("is_old_news"):
        return make_response("", 204)
    response = answered(f"_{part.template}", 200, scope, state, part=name, title=part.title, **context)
    if is_turned:
        response.headers["HX-Push-Url"] = scope.address(**state.query())
    return response


def show_list(scope: Scope, name: str) -> Response:
    """As much of a list as there is, up to a hundred lines."""
    state, wrong = asked(scope, dict(read_query()))
    context = around(scope, state)
    if name == "links":
        context |= {"heading": "Links", **links(scope, state, limit=100)}
    else:
        context |= {"heading": known(words.WORDS, name).many, **listed(scope, state, name)}
    return pages.page(
        "dashboard/statistics/all.html",
        "dashboard/statistics/_all.html",
        status=422 if wrong else 200,
        name=name,
        wrong=wrong,
        **context,
    )


def show_file(scope: Scope) -> Response:
    state, wrong = asked(scope, dict(read_query()))
    if wrong:
        raise Invalid(*wrong)
    return download(scope, state, dict(read_query()).get("type", "overview"))


def known(names: Any, name: str) -> Any:
    """Raises NotThere."""
    if name not in names:
        raise NotThere("page")
    return names[name]


def asked(scope: Scope, parameters: Any) -> tuple[State, Sequence[FieldError]]:
    zone = pages.zone()
    today = clock.now().astimezone(zone).date()
    return read(parameters, today, scope.first(zone))


def current() -> dict[str, str]:
    """What the page asks for on which htmx was used."""
    try:
        return dict(parse_query(pages.current_query()))
    except WaypostError:  # no browser of ours was ever on such a page
        return {}


def parts_of(scope: Scope, state: State) -> list[tuple[str, Part, str]]:
    """The page's parts: name, what it is, and when it is asked for."""
    names = REALTIME if state.period == "realtime" else OF_ONE if scope.link else OF_MANY
    return [(name, PARTS[name], "load" if n < AT_ONCE else "revealed") for n, name in enumerate(names)]


def around(scope: Scope, state: State) -> Context:
    """What every template of the page needs."""
    return {
        "here": "links" if scope.link else "projects" if scope.project else "statistics",
        "scope": scope,
        "state": state,
        "zone": pages.zone(),
        "is_whole": "whole" in dict(read_query()),
        "to": lambda other: scope.address(**other.query()),
        "share": figures.share,
        "span_words": figures.span_words,
        "compact": figures.compact,
        "part_of": lambda name: show_part(scope, name).get_data(as_text=True),
    }


def answered(template: str, status: int, scope: Scope, state: State, **context: Any) -> Response:
    body = render_template(f"dashboard/statistics/{template}.html", **around(scope, state), **context)
    return make_response(body, status)
