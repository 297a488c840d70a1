"""Forms of the dashboard: how their fields are read, and that every error belongs to its field."""

from __future__ import annotations

import datetime as dt
import io
from collections.abc import Callable, Iterator, Mapping
from html.parser import HTMLParser
from typing import Any

import pytest
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.accounts.workspaces import access_of
from app.dashboard import domains, pixels, projects
from app.dashboard.handlers import views as handlers
from app.dashboard.links import views as links
from app.dashboard.shared.crud_views import CrudViews
from app.dashboard.shared.form_input import complete, link_fields, touched
from app.input.data import RequestData, Upload
from app.input.fields import (
    ChoiceField,
    DateTimeField,
    FlagField,
    ListField,
    SentField,
    UploadField,
    WholeField,
)
from app.input.forms import IdsField
from app.links.bulk_forms import ManyForm
from app.links.fields import PairsField
from app.links.forms import LinkForm
from app.links.models import Link
from tests.dashboard.conftest import Desk
from tests.factories import Factory

# half past two comes twice that night in Berlin; this is the second one
TWICE = dt.datetime(2026, 10, 25, 1, 30, tzinfo=dt.UTC)
STORED = {"location_url": "https://example.com/", "url": "kept", "notes": "a\nb", "clicks_limit": 5}


@pytest.mark.parametrize(
    ("typed", "read"),
    {
        "bare host": ("example.com", "https://example.com"),
        "bare host with the rest": ("example.com/a?b#c", "https://example.com/a?b#c"),
        "port": ("example.com:8080/a", "https://example.com:8080/a"),
        "around": ("  https://example.com/ \n", "https://example.com/"),
        "other letters": ("bücher.example", "https://bücher.example"),
        "as it is": ("http://example.com", "http://example.com"),
        "script": ("javascript:alert(1)", "javascript:alert(1)"),
        "script with a dot": ("javascript:a.b", "javascript:a.b"),
        "mail": ("mailto:a@example.com", "mailto:a@example.com"),
        "login": ("me@example.com", "me@example.com"),
        "a word": ("example", "example"),
        "two words": ("two words.com", "two words.com"),
        "empty": ("", ""),
    }.values(),
)
def test_addresses(typed: str, read: str) -> None:
    assert complete(typed) == read


def test_lines_keep_their_numbers() -> None:
    sent = link_fields(RequestData([("location_urls", "a.example\r\n\r\n b.example")]))
    assert sent.last("location_urls") == "https://a.example\n\nhttps://b.example"


def test_a_ticked_removal_is_an_empty_picture() -> None:
    sent = link_fields(RequestData([("remove_cloaking_favicon", "1")]))
    assert sent.last("cloaking_favicon") == ""
    assert "remove_cloaking_favicon" not in sent


def test_a_new_picture_is_stronger_than_its_removal() -> None:
    picture = Upload("a.png", b"a")
    sent = link_fields(RequestData([("cloaking_favicon", picture), ("remove_cloaking_favicon", "1")]))
    assert sent.last("cloaking_favicon") == picture


def test_the_rest_goes_through_as_it_came() -> None:
    pairs = [("is_enabled", "0"), ("is_enabled", "1"), ("pixels_ids", ""), ("pixels_ids", "3")]
    sent = link_fields(
        RequestData([*pairs, ("targeting_rotation_key[]", "5"), ("targeting_rotation_key[]", "")])
    )
    assert sent.last("is_enabled") == "1"
    assert sent.members("pixels_ids") == [(1, "3")]
    assert sent.getlist("targeting_rotation_key") == ["5", ""]


TYPED = [
    ("location_url", "https://example.com/", False),
    ("location_url", "https://example.com", True),
    ("location_url", "", True),
    ("notes", "a\r\nb", False),
    ("notes", "a\r\nb\r\n", True),
    ("clicks_limit", "5", False),
    ("clicks_limit", "", True),
    ("title", "a title", False),
    ("title", "aTtitle", True),
    ("title", "", True),
    ("utm_source", "", False),
    ("utm_source", "x", True),
    ("start_date", "2026-10-25T01:30", False),
    ("start_date", "2026-10-25T01:30:00", False),
    ("start_date", "2026-10-25T01:31", True),
    ("password", "********", False),
    ("password", "", True),
    ("password", "new", True),
    ("tags", "", True),
    ("pixels_ids", "", True),
]


def test_changed_fields(alice: User, factory: Any) -> None:
    link = factory.link(alice, **STORED, title="a title", schedule=True, start_date=TWICE, password_hash="x")
    shown = LinkForm(None, owner=access_of(alice), stored=link)
    for name, value, is_touched in TYPED:
        assert (name in touched(RequestData([(name, value)]), shown)) is is_touched, (name, value)


def test_the_second_of_two_equal_hours_stays(
    desk: Desk, alice: User, factory: Any, session: scoped_session[Session]
) -> None:
    alice.timezone = "Europe/Berlin"
    link = factory.link(alice, schedule=True, start_date=TWICE)
    data = {"schedule": "1", "start_date": "2026-10-25T02:30", "title": "New"}
    assert desk.post(f"/links/{link.id}", data).status_code == 303
    session.expire_all()
    assert (session.get(Link, link.id).start_date, link.title) == (TWICE, "New")  # type: ignore[union-attr]


FAMILIES = (links.FAMILY, domains.FAMILY, pixels.FAMILY, handlers.FAMILY, projects.FAMILY)
VOID = frozenset(
    [
        "area",
        "base",
        "br",
        "col",
        "embed",
        "hr",
        "img",
        "input",
        "link",
        "meta",
        "source",
        "track",
        "wbr",
        "path",
        "circle",
    ]
)
# the page says by itself which one link is made of
NOT_SENT = {"is_bulk", "type"}


class Controls(HTMLParser):
    """The ids of a page, its controls, and its errors with the ids around each."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[tuple[str, str]] = []
        self.ids: list[str] = []
        self.errors: list[set[str]] = []
        self.controls: list[dict[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        id_ = told.get("id", "")
        self.ids += [id_] if id_ else []
        if "error" in told.get("class", "").split() and "is-warning" not in told["class"].split():
            self.errors.append({id_, *(around for _, around in self.open)} - {""})
        if told.get("aria-invalid") == "true":
            self.controls.append({"tag": tag, **told})
        if tag not in VOID:
            self.open.append((tag, id_))

    def handle_endtag(self, tag: str) -> None:
        while self.open and self.open.pop()[0] != tag:
            pass

    def unbound(self) -> list[set[str]]:
        """The errors that no invalid control names."""
        named = {word for one in self.controls for word in one.get("aria-describedby", "").split()}
        return [around for around in self.errors if not around & named]

    def misnamed(self) -> list[dict[str, str]]:
        """The invalid controls that name nothing, or what is not there; and those that have no such state."""
        return [
            one
            for one in self.controls
            if not (words := one.get("aria-describedby", "").split())
            or not set(words) <= set(self.ids)
            or (one["tag"] == "fieldset" and one.get("role") != "radiogroup")
        ]

    def names(self) -> set[str]:
        return {one.get("name", "").removesuffix("[]") for one in self.controls if one["tag"] != "fieldset"}


def require_bound(page: str) -> Controls:
    found = Controls(page)
    assert (found.unbound(), found.misnamed()) == ([], [])
    return found


def bad(field: SentField) -> Any:
    """A value that a field of this kind refuses."""
    if isinstance(field, UploadField):
        return (io.BytesIO(b"no picture"), "a.png")
    if isinstance(field, IdsField):
        return "999999"
    if isinstance(field, FlagField | ChoiceField | DateTimeField | WholeField):
        return "neither"
    return "x\x07" * 40 if isinstance(field, ListField) else "\x07" + "x" * 30_000


def bad_values(form: Any) -> Iterator[tuple[str, Any]]:
    for field in form:
        if field.name in NOT_SENT:
            continue
        if isinstance(field, PairsField):
            yield from ((f"{field.name}_{half}[]", "\x07") for half in ("key", "value"))
        else:
            yield field.name, bad(field)


@pytest.fixture
def belongings(alice: User, factory: Factory) -> Mapping[str, Callable[[], Any]]:
    """One row of each kind, so that each form has all its controls."""
    factory.pixel(alice), factory.handler(alice), factory.project(alice), factory.domain(alice, "go.example")
    return {
        "links": lambda: factory.link(alice),
        "domains": lambda: factory.domain(alice, "to.example"),
        "pixels": lambda: factory.pixel(alice),
        "handlers": lambda: factory.handler(alice),
        "projects": lambda: factory.project(alice),
    }


@pytest.mark.parametrize("family", FAMILIES, ids=[family.name for family in FAMILIES])
def test_every_field_of_every_family(
    family: CrudViews, desk: Desk, alice: User, belongings: Mapping[str, Callable[[], Any]]
) -> None:
    for path in (f"/{family.name}/new", f"/{family.name}/{belongings[family.name]().id}"):
        data = dict(bad_values(family.form(None, owner=access_of(alice))))
        answer = desk.post(path, data, content_type="multipart/form-data")
        assert answer.status_code in {413, 422}
        answer.request.input_stream.close()  # the client's own: a file, where the values are long
        found = require_bound(answer.text)
        assert found.errors
        assert found.names()


def test_lines_of_targeting(desk: Desk) -> None:
    for type_ in ("continent_code", "country_code", "city_name", "rotation", "os_name"):
        data: dict[str, Any] = {"location_url": "https://example.com/", "targeting_type": type_}
        lines = {f"targeting_{type_}_key[]": ["\x07", ""], f"targeting_{type_}_value[]": ["\x07", "a b"]}
        found = require_bound(desk.post("/links/new", {**data, **lines}).text)
        assert found.names() == {f"targeting_{type_}_key", f"targeting_{type_}_value"}, type_
        many = {
            f"targeting_{type_}_key[]": ["DE"] * 101,
            f"targeting_{type_}_value[]": ["https://e.example"] * 101,
        }
        found = require_bound(desk.post("/links/new", {**data, **many}).text)
        assert found.names() == {f"targeting_{type_}_key"}, type_


def test_every_field_of_a_link_that_is_refused_is_marked(
    desk: Desk, alice: User, belongings: Mapping[str, Callable[[], Any]]
) -> None:
    assert belongings
    data = dict(bad_values(links.FAMILY.form(None, owner=access_of(alice))))
    found = require_bound(desk.post("/links/new", data, content_type="multipart/form-data").text)
    left = {name for name in data if "targeting_" not in name} - found.names()
    assert left == {"location_urls"}  # a field of the page for many


def test_the_pages_for_many_links(desk: Desk, alice: User, factory: Factory) -> None:
    factory.pixel(alice), factory.handler(alice), factory.project(alice)
    found = require_bound(desk.post("/links/bulk", {"location_urls": "ok.example\nnot ok"}).text)
    assert found.names() == {"location_urls"}
    work = {"do": "change", "ids": str(factory.link(alice).id), "total": "1"}
    sent = {**work, **dict(bad_values(ManyForm(None, owner=access_of(alice))))}
    assert require_bound(desk.post("/links/many/go", sent).text).names() >= {
        "add_pixels",
        "end_date",
        "add_tags",
    }


OTHERS: Mapping[str, tuple[str, Mapping[str, str], set[str]]] = {
    "key": ("/keys/new", {"name": "", "scope": "all", "expires": "x"}, {"name", "scope", "expires"}),
    "invitation": ("/users/invitations/new", {"email": "no address"}, {"email"}),
    "profile": ("/account/", {"timezone": "Moon", "language": "xx"}, {"timezone", "language"}),
    "e-mail": ("/account/email", {"new_email": "x", "own_password": "x"}, {"new_email"}),
    "password": ("/account/password", {"current_password": "x", "password": "x"}, {"password"}),
    "two-factor": ("/account/two-factor/start", {"current_password": "x"}, {"current_password"}),
    "deletion": ("/account/delete", {"own_email": "x", "own_password": "x"}, {"own_email"}),
    "import": ("/imports/", {}, {"file"}),
}


def test_other_forms(desk: Desk) -> None:
    for name, (path, data, fields) in OTHERS.items():
        answer = desk.post(path, data)
        assert answer.status_code == 422, name
        assert require_bound(answer.text).names() >= fields, name
