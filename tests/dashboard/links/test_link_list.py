"""The list of links: states, filters, search, saved views, icons, and clicks that keep up by themselves."""

from __future__ import annotations

import csv
import datetime as dt
import io
import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from sqlalchemy import select, update
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.core import clock
from app.dashboard.links.rows import MAX_ROWS
from app.dashboard.links.states import (
    ACTIVE,
    ENDED,
    FAILING,
    LIMIT,
    OFF,
    SCHEDULED,
    STATES,
    Badge,
    state_conditions,
    state_of,
)
from app.input import listing
from app.links import saved_views
from app.links.clicks import clicks_of
from app.links.destination_checks import failing
from app.links.models import DestinationCheck, Favicon, LimitCounter, Link, SavedView
from tests.dashboard.conftest import Desk
from tests.factories import Factory
from tests.links.sites import ICON


@pytest.fixture
def ids(alice: User, factory: Any, session: scoped_session[Session]) -> dict[str, int]:
    """Links a (red, in project one), b (red, blue, in project two), c (blue, off, a domain), d (nothing)."""
    one, two = factory.project(alice, name="One"), factory.project(alice, name="Two")
    domain, pixel, handler = factory.domain(alice, "go.example"), factory.pixel(alice), factory.handler(alice)
    a = factory.link(alice, "a", tags=("red",), project_id=one.id, cloaking_is_enabled=True)
    b = factory.link(alice, "b", tags=("red", "blue"), project_id=two.id)
    b.targeting_type, b.targeting = "device_type", [["mobile", "https://m.example/"]]
    factory.link(alice, "c", tags=("blue", "a,b"), is_enabled=False, domain_id=domain.id)
    factory.link(alice, "d")
    a.pixels, b.handlers = [pixel], [handler]
    session.commit()
    return {
        "ONE": one.id,
        "TWO": two.id,
        "DOMAIN": domain.id,
        "PIXEL": pixel.id,
        "HANDLER": handler.id,
    }


QUERIES = {
    "one value": ("tag=red", "ab"),
    "any of two": ("tag=red&tag=blue", "abc"),
    "a value twice": ("tag=red&tag=red", "ab"),
    "a value with a comma": ("tag=a,b", "c"),
    "is not, a link without tags too": ("tag=red&not=tag", "cd"),
    "is none of two": ("tag=red&tag=blue&not=tag", "d"),
    "not without a value": ("not=tag", "abcd"),
    "not with an empty value": ("tag=&not=tag&not=", "abcd"),
    "two projects": ("project_id=ONE&project_id=TWO", "ab"),
    "a project or none": ("project_id=ONE&project_id=0", "acd"),
    "is not a project, a link without one too": ("project_id=ONE&not=project_id", "bcd"),
    "is not without a project": ("project_id=0&not=project_id", "ab"),
    "is not a domain": ("domain_id=DOMAIN&not=domain_id", "abd"),
    "is not a pixel": ("pixel_id=PIXEL&not=pixel_id", "bcd"),
    "is not a handler": ("handler_id=HANDLER&not=handler_id", "acd"),
    "two states": ("state=active&state=off", "abcd"),
    "is not a state": ("state=off&not=state", "abd"),
    "two settings": ("rule=targeting&rule=cloaking", "ab"),
    "is not targeted": ("rule=device_type&not=rule", "acd"),
    "two filters, one is not": ("tag=red&tag=blue&project_id=ONE&not=project_id", "bc"),
    "two filters, both are not": ("tag=red&not=tag&state=off&not=state", "d"),
    "with a search": ("search=b&tag=red&not=tag", "c"),
}


def found(page: str) -> str:
    return "".join(sorted(re.findall(r'<a class="name" href="[^"]*/(\w)"', page)))


def filled(query: str, ids: dict[str, int]) -> str:
    for name, id_ in ids.items():
        query = query.replace(f"={name}", f"={id_}")
    return query


@pytest.mark.databases
def test_what_filters_find(desk: Desk, ids: dict[str, int]) -> None:
    answers = {
        name: found(desk.get(f"/links/?{filled(query, ids)}").text) for name, (query, _) in QUERIES.items()
    }
    assert answers == {name: wanted for name, (_, wanted) in QUERIES.items()}


def test_the_export_and_bulk_changes_find_the_same(
    desk: Desk, ids: dict[str, int], session: scoped_session[Session]
) -> None:
    rows = csv.DictReader(io.StringIO(desk.get("/links/export.csv?tag=red&tag=blue&not=tag").text))
    assert [row["url"] for row in rows] == ["d"]
    page = desk.get("/links/?tag=red&tag=blue&not=tag&page=1").text
    query = re.search(r'name="query" value="([^"]+)"', page)
    assert query
    sent = {"do": "off", "all": "1", "query": query[1].replace("&amp;", "&")}
    assert desk.post("/links/many", sent).status_code == 303
    session.rollback()
    off = session.scalars(select(Link.url).where(~Link.is_enabled).order_by(Link.url)).all()
    assert list(off) == ["c", "d"]


def test_what_can_not_be_used_is_refused(desk: Desk, ids: dict[str, int]) -> None:
    refused = {
        "state=active&state=nope": "state: This must be one of",
        "not=clicks": "not: This must be one of",
        "project_id=1&project_id=x": "project_id: ",
        "&".join(
            f"tag=t{number}" for number in range(listing.MAX_VALUES + 1)
        ): "tag: There may be at most 50 values.",
    }
    for query, told in refused.items():
        answer = desk.get(f"/links/?{query}")
        assert (answer.status_code, told in answer.text) == (422, True), query
    assert desk.get("/links/?search=a&endpoint=b&_external=1&kind=json").status_code == 200


OWN = "localhost"


@pytest.fixture
def links(factory: Factory, alice: User, bob: User) -> dict[str, Link]:
    domain = factory.domain(alice, "go.example")
    of_bob = factory.domain(bob, "bob.example")
    made = {
        "spring": factory.link(
            alice, "spring", title="Sale of the year", location_url="https://shop.example/sale", tags=("mail",)
        ),
        "noted": factory.link(alice, "noted", notes="for Gr\u00fc\u00dfe & co", location_url="https://shop.example/"),
        "mine": factory.link(alice, "mine", domain_id=domain.id, location_url="https://other.example/"),
        "caf\u00e9": factory.link(alice, "caf\u00e9", location_url="https://other.example/coffee"),
    }  # fmt: skip
    factory.link(bob, "secret", domain_id=of_bob.id, location_url="https://shop.example/bob")
    factory.session.commit()
    return made


CASES = {
    "one word": ("sale", {"spring"}),
    "in other places": ("shop mail", {"spring"}),
    "one that is missing": ("shop mail nowhere", set()),
    "spaces alone": ("   ", {"spring", "noted", "mine", "caf\u00e9"}),
    "a tag": ("MAIL", {"spring"}),
    "decomposed": ("cafe\u0301", {"caf\u00e9"}),
    "a sign of LIKE": ("%", set()),
    "a short link": (f"http://{OWN}/spring", {"spring"}),
    "in capitals": (f"HTTP://{OWN.upper()}/SPRING", {"spring"}),
    "with what follows": (f"https://{OWN}/spring?utm_source=x#top", {"spring"}),
    "escaped": (f"{OWN}/caf%C3%A9", {"caf\u00e9"}),
    "on a domain": ("https://go.example/mine", {"mine"}),
    "on the wrong host": ("https://go.example/spring", set()),
    "with a word beside it": (f"{OWN}/spring year", {"spring"}),
    "of somebody else": ("https://bob.example/secret", set()),
    "a host alone": ("shop.example/", {"spring", "noted"}),
    "many words": ("sale " * 20, set()),
}


@pytest.mark.databases
def test_what_is_found(desk: Desk, links: dict[str, Link]) -> None:
    for name, (text, wanted) in CASES.items():
        page = desk.get("/links/", query_string={"search": text})
        assert page.status_code == 200, name
        found = {one for one in links if f'id="row-{links[one].id}"' in page.text}
        assert found == wanted, name


EMPTY = "This can&#39;t be empty."
QUERY = "not=tag&order_by=clicks&search=a+%26+b&tag=summer&tag=winter"


def stored(session: scoped_session[Session], user: User) -> list[SavedView]:
    session.rollback()
    return list(
        session.scalars(
            select(SavedView)
            .where(SavedView.workspace_id == access_of(user).workspace_id)
            .order_by(SavedView.id)
        )
    )


def save(desk: Desk, name: str, query: str = QUERY, **options: Any) -> Any:
    return desk.post("/links/views/new", {"name": name, "query": query}, **options)


def errors(page: str) -> list[str]:
    return re.findall(r'<p class="error">.*?<span>([^<]+)</span>', page)


def test_a_view_keeps_the_known_parameters(desk: Desk, alice: User, session: scoped_session[Session]) -> None:
    sent = (
        "tag=winter&tag=summer&not=tag&not=state&page=3&order_by=clicks&search=a+%26+b&evil=1&view=9&state="
    )
    answer = save(desk, "Not seasonal", sent)
    (view,) = stored(session, alice)
    assert (answer.status_code, view.name, view.query) == (303, "Not seasonal", QUERY)
    shown = urlsplit(answer.location)
    assert shown.path == "/dashboard/links/"
    assert parse_qs(shown.query) == parse_qs(QUERY) | {"view": [str(view.id)]}


def test_names_are_free_again_only_when_their_view_is_gone(
    desk: Desk, alice: User, bob: User, session: scoped_session[Session]
) -> None:
    session.add(SavedView(**access_of(bob).row_columns, name="Mine", key="mine", query=QUERY))
    session.commit()
    assert save(desk, "Mine").status_code == 303
    (view,) = stored(session, alice)
    refused = {"mine": "Another saved view has this name.", "": EMPTY, "  ": EMPTY}
    refused["x" * 65] = "This may have at most 64 characters; it has 65."
    for name, told in refused.items():
        answer = save(desk, name)
        assert (answer.status_code, errors(answer.text)) == (422, [told])
    assert save(desk, "Other").status_code == 303
    view_id = stored(session, alice)[1].id
    answer = desk.post(f"/links/views/{view_id}", {"name": "MINE", "shown_values": ""})
    assert (answer.status_code, errors(answer.text)) == (422, ["Another saved view has this name."])
    assert desk.post(f"/links/views/{view.id}/remove", {}).status_code == 303
    assert save(desk, "mine").status_code == 303
    assert [one.name for one in stored(session, alice)] == ["Other", "mine"]
    assert [one.name for one in stored(session, bob)] == ["Mine"]


def test_there_are_fifty_at_most(
    desk: Desk, alice: User, session: scoped_session[Session], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(saved_views, "MAX_VIEWS", 2)
    assert [save(desk, name).status_code for name in "abc"] == [303, 303, 422]
    assert len(stored(session, alice)) == 2


def test_renaming_and_updating(desk: Desk, alice: User, session: scoped_session[Session]) -> None:
    save(desk, "Old")
    (view,) = stored(session, alice)
    at = f"/links/views/{view.id}"
    assert desk.post(at, {"name": "New"}).status_code == 303
    assert desk.post(f"{at}/update", {"query": "state=off&page=2"}).status_code == 303
    (view,) = stored(session, alice)
    assert (view.name, view.key, view.query) == ("New", "new", "state=off")
    assert desk.post(f"{at}/update", {"query": "page=2"}).status_code == 422
    assert desk.post(f"{at}/update", {}).status_code == 422


def test_the_bar_marks_the_view_and_says_that_it_was_changed(
    desk: Desk, alice: User, session: scoped_session[Session], factory: Any
) -> None:
    factory.link(alice, "one", tags=("summer",))
    assert 'class="views"' not in desk.get("/links/").text
    assert ">Save view<" in re.sub("<svg.*?</svg>", "", desk.get("/links/?tag=summer").text)
    save(desk, "Summer", "tag=summer&tag=spring")
    (view,) = stored(session, alice)
    marked = re.compile(r'<a href="[^"]*"( aria-current="true")?><bdi>Summer</bdi>( <span class="changed">)?')

    def state(query: str) -> list[bool]:
        found = marked.search(desk.get(f"/links/?{query}").text)
        assert found
        return [bool(group) for group in found.groups()]

    at = f"view={view.id}"
    assert state("") == [False, False]
    assert state("tag=summer&tag=spring") == [False, False]
    assert state(f"tag=spring&tag=summer&page=1&{at}") == [True, False]
    assert state(f"tag=summer&{at}") == [True, True]
    assert state(f"tag=summer&tag=spring&order_by=url&{at}") == [True, True]
    assert state(f"tag=summer&view={view.id + 1}") == [False, False]
    assert state(f"order_by=nope&{at}") == [True, True]


def test_only_rows_with_other_clicks_come(desk: Desk, alice: User, bob: User, factory: Factory) -> None:
    one, two, three = (factory.link(alice, name).id for name in ("one", "two", "three"))
    of_bob = factory.link(bob, "secret").id
    for link_id, clicks in ((one, 1234), (two, 5), (of_bob, 7)):
        factory.session.add(LimitCounter(link_id=link_id, clicks=clicks))
    factory.session.commit()
    answer = desk.get(f"/links/clicks?known={one}-9,{two}-5,{three}-0,{of_bob}-0,{of_bob + 99}-3")
    assert list(answer.json) == [str(one)]
    found = answer.json[str(one)]
    assert found["clicks"] == 1234
    assert found["html"].startswith("<b>1,234</b> clicks<span")
    assert "Statistics for localhost/one" in found["html"]
    assert found["html"] in desk.get("/links/").text  # as the row has it
    assert answer.headers["Cache-Control"] == "no-store"


READ = {
    "none": ("", 200),
    "no count": ("7", 422),
    "no number": ("a-b", 422),
    "a negative count": ("7--1", 422),
    "zero": ("0-0", 422),
    "more than any id": (f"{2**70}-0", 422),
    "too many": (",".join(f"{n}-0" for n in range(1, MAX_ROWS + 2)), 422),
    "as many as may be": (",".join(f"{n}-0" for n in range(1, MAX_ROWS + 1)), 200),
    "too long": ("1-0" + "0" * 5000, 422),
}


def test_what_is_asked_is_read_strictly(desk: Desk) -> None:
    for name, (known, status) in READ.items():
        assert desk.get("/links/clicks", query_string={"known": known}).status_code == status, name


IMAGE = re.compile(r'<img class="site" src="/dashboard([^"]+)" alt="" width="20" height="20" loading="lazy"')


@pytest.fixture
def iconed(session: scoped_session[Session], alice: User, bob: User, make_link: Callable[..., Link]) -> Link:
    """A link whose site has an icon, beside one whose site has none. Bob's icon is another."""
    link = make_link(alice, location_url="https://a.example/x")
    make_link(alice, location_url="https://b.example/x")
    for user, name in ((alice, "aaaa"), (bob, "bbbb")):
        session.add(
            Favicon(**access_of(user).row_columns, site="https://a.example", content=ICON, digest=name)
        )
    session.commit()
    return link


@pytest.mark.usefixtures("iconed")
def test_the_list_has_the_icon_of_its_own_copy(desk: Desk) -> None:
    [path] = IMAGE.findall(desk.get("/links/").text)
    found = desk.get(path)
    assert (found.status_code, found.mimetype, found.data) == (200, "image/png", ICON)
    assert "immutable" in found.headers["Cache-Control"]
    assert "private" in found.headers["Cache-Control"]


@pytest.mark.usefixtures("iconed")
def test_others_icons_are_not_there(desk: Desk, session: scoped_session[Session], bob: User) -> None:
    id_ = session.scalar(select(Favicon.id).where(Favicon.workspace_id == access_of(bob).workspace_id))
    assert desk.get(f"/links/icons/{id_}-bbbb.png").status_code == 404
    assert desk.get(f"/links/icons/{id_}-aaaa.png").status_code == 404
    assert desk.get("/links/icons/999-aaaa.png").status_code == 404


@pytest.mark.usefixtures("iconed")
def test_an_owner_who_wants_none_sees_none(desk: Desk, session: scoped_session[Session], alice: User) -> None:
    session.execute(update(User).where(User.id == alice.id).values(fetches_favicons=False))
    session.commit()
    assert IMAGE.findall(desk.get("/links/").text) == []


NOW = dt.datetime(2026, 6, 1, 12, tzinfo=dt.UTC)
SECOND = dt.timedelta(seconds=1)


@pytest.mark.parametrize(
    ("columns", "clicks", "state"),
    {
        "plain": ({}, 0, ACTIVE),
        "off": ({"is_enabled": False}, 0, OFF),
        "off and ended": ({"is_enabled": False, "schedule": True, "end_date": NOW - SECOND}, 0, OFF),
        "before the start": ({"schedule": True, "start_date": NOW + SECOND}, 0, SCHEDULED),
        "at the start": ({"schedule": True, "start_date": NOW}, 0, ACTIVE),
        "before the end": ({"schedule": True, "end_date": NOW + SECOND}, 0, ACTIVE),
        "at the end": ({"schedule": True, "end_date": NOW}, 0, ENDED),
        "no schedule": ({"schedule": False, "end_date": NOW}, 0, ACTIVE),
        "under the limit": ({"clicks_limit": 5}, 4, ACTIVE),
        "at the limit": ({"clicks_limit": 5}, 5, LIMIT),
    }.values(),
)
def test_states(columns: dict[str, Any], clicks: int, state: Badge) -> None:
    link = Link(**{"is_enabled": True, "schedule": False, **columns})
    assert state_of(link, clicks, NOW) == state
    assert state_of(link, clicks, NOW, is_failing=True) == (FAILING if state is ACTIVE else state)


@pytest.mark.databases
def test_a_query_knows_the_same_states(alice: Any, make_link: Any, session: Any, database: str) -> None:
    """The list's filter by state finds the links whose rows show that state."""
    now = clock.now()
    kinds = {
        "plain": {},
        "off": {"is_enabled": False, "schedule": True, "end_date": now - SECOND},
        "soon": {"schedule": True, "start_date": now + 60 * SECOND},
        "both": {"schedule": True, "start_date": now - SECOND, "end_date": now + 60 * SECOND},
        "over": {"schedule": True, "end_date": now},
        "used": {"clicks_limit": 5},
        "using": {"clicks_limit": 6},
        "broken": {},
        "mended": {},
        "off and broken": {"is_enabled": False},
    }
    links = {name: make_link(alice, name, **columns) for name, columns in kinds.items()}
    for name in ("used", "using"):
        session.add(LimitCounter(link_id=links[name].id, clicks=5))
    for name in ("broken", "mended", "off and broken"):
        url = links[name].location_url + ("before" if name == "mended" else "")
        times = {"failing_since": now, "due": now, "planned": now}
        session.add(DestinationCheck(link_id=links[name].id, url=url, failures=3, **times))
    session.commit()
    broken = failing(session, [link.id for link in links.values()])
    assert {id_: fault.since for id_, fault in broken.items()} == {
        links[name].id: now for name in ("broken", "off and broken")
    }
    counts = clicks_of([link.id for link in links.values()])
    in_state = {
        word: list(session.scalars(select(Link.url).where(condition)))
        for word, condition in state_conditions(now).items()
    }
    found = {url: word for word, urls in in_state.items() for url in urls}
    assert sum(map(len, in_state.values())) == len(links)
    assert found == {
        name: next(
            word
            for word, state in STATES.items()
            if state == state_of(link, counts[link.id], now, link.id in broken)
        )
        for name, link in links.items()
    }
    assert found["broken"] == "failing"
    assert set(found.values()) == set(STATES)


def test_links_of_a_state_in_the_order_of_their_clicks(desk: Desk, make_link: Any, alice: Any) -> None:
    """Both ask for the clicks: the state by a subquery, the order by a join."""
    for state in STATES:
        make_link(alice, clicks_limit=3)
        assert desk.get(f"/links/?state={state}&order_by=clicks").status_code == 200, state
