"""Entity tags, the conditions of reads and writes, and keys by which a repeated request creates once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from contextvars import Context
from typing import Any

import pytest
import time_machine
from flask import Flask
from sqlalchemy.orm import Session, scoped_session

from app.accounts.models import User
from app.api import idempotency, resource
from app.api.models import IdempotencyKey
from app.links import services
from app.links.models import Link
from tests.api.shape import problem, race
from tests.clients import Api
from tests.writes import write

TO = "https://example.com/"
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    # what makes one, and what changes it
    "/links": ({"location_url": TO, "url": "a"}, {"title": "T"}),
    "/pixels": ({"type": "social_a", "name": "n", "pixel": "1"}, {"pixel": "2"}),
    "/notification-handlers": (
        {"type": "webhook", "name": "n", "webhook": TO},
        {"webhook": "https://other.example/"},
    ),
    "/projects": ({"name": "n"}, {"color": "#0b7285"}),
    "/domains": ({"host": "go.elsewhere.example"}, {"custom_index_url": TO}),
}
FORGED = '"00000000000000000000000000000000"'


def make(api: Api, path: str) -> tuple[str, str]:
    """The path and the tag of a new row."""
    answer = api.post(path, KINDS[path][0])
    assert answer.status_code == 201, answer.text
    return f"{path}/{answer.json['data']['id']}", answer.headers["ETag"]


def tag_of(api: Api, row: str) -> str:
    return str(api.get(row).headers["ETag"])


@pytest.mark.databases
def test_a_new_link_is_shown_with_all_that_it_was_created_with(api: Api) -> None:
    """Without a query, so that nothing else may be beside it."""
    pixels = [api.post("/pixels", KINDS["/pixels"][0]).json["data"]["id"] for _ in range(2)]
    handler = api.post("/notification-handlers", KINDS["/notification-handlers"][0]).json["data"]["id"]
    sent = {
        "location_url": TO,
        "tags": ["b", "a"],
        "pixels_ids": pixels[::-1],
        "email_reports": [handler],
        "targeting_type": "country_code",
        "targeting_country_code_key": ["DE"],
        "targeting_country_code_value": ["https://example.com/de"],
    }
    made = api.post("/links", sent, headers={"Prefer": "return=representation"})
    assert made.status_code == 201, made.text
    shown = made.json["data"]
    assert (shown["tags"], shown["pixels_ids"], shown["email_reports"]) == (["b", "a"], pixels, [handler])
    read = api.get(f"/links/{shown['id']}")
    assert (read.json["data"], read.headers["ETag"]) == (shown, made.headers["ETag"])


def edit_elsewhere(api: Api, link: Link) -> None:
    """As an import, a bulk change and the dashboard do it."""
    write(services.update, link, {"tags": ["by another edge"]})


EDITS: dict[str, Callable[[Api, Link], Any]] = {
    "tags": lambda api, link: api.post(f"/links/{link.id}", {"tags": "t"}),
    "another edge": edit_elsewhere,
    "a password for another": lambda api, link: api.post(f"/links/{link.id}", {"password": "other"}),
    "a pixel that is deleted": lambda api, link: api.delete(f"/pixels/{link.pixels[0].id}"),
    "a project that is deleted": lambda api, link: api.delete(f"/projects/{link.project_id}"),
    "a targeting line": lambda api, link: api.post(
        f"/links/{link.id}",
        {"targeting_type": "rotation", "targeting_rotation_key": "5", "targeting_rotation_value": TO},
    ),
}


@pytest.mark.parametrize("name", EDITS)
def test_a_links_tag_covers_all_of_it(
    api: Api, make_link: Any, make_pixel: Any, make_project: Any, alice: User, name: str
) -> None:
    link = make_link(alice, project_id=make_project(alice).id)
    api.post(f"/links/{link.id}", {"pixels_ids": str(make_pixel(alice).id), "password": "first"})
    before = tag_of(api, f"/links/{link.id}")
    answer = EDITS[name](api, link)
    assert answer is None or answer.status_code in {200, 204}
    assert tag_of(api, f"/links/{link.id}") != before


def test_two_passwords_within_a_second_have_two_tags(api: Api, make_link: Any, alice: User) -> None:
    row, headers = f"/links/{make_link(alice).id}", {"Prefer": "return=representation"}
    first, second = (api.post(row, {"password": word}, headers=headers) for word in ("one", "two"))
    assert first.json["data"]["settings"] == second.json["data"]["settings"]
    assert first.headers["ETag"] != second.headers["ETag"]


def test_it_is_of_what_this_key_sees(api: Api, make_api: Any, alice: User) -> None:
    row, tag = make(api, "/notification-handlers")
    reader = make_api(alice, "read")
    masked = tag_of(reader, row)
    assert masked != tag
    assert reader.get(row, headers={"If-None-Match": masked}).status_code == 304


MATCH: dict[str, tuple[str, int]] = {
    "the tag": ("{tag}", 200),
    "any": ("*", 200),
    "one of a list": (f'"a,b", {FORGED},{{tag}} , W/"c"', 200),
    "another": (FORGED, 412),
    "weak": ("W/{tag}", 412),
    "an empty list": ("", 412),
    "no quotes": ("abc", 400),
    "any in a list": ('*, "a"', 400),
    "a blank in a tag": ('"a b"', 400),
    "two without a comma": ("{tag} {tag}", 400),
}


@pytest.mark.parametrize("name", MATCH)
def test_if_match(api: Api, name: str) -> None:
    text, status = MATCH[name]
    row, tag = make(api, "/pixels")
    headers = {"If-Match": text.format(tag=tag, upper=tag.upper())}
    for method in ("GET", "POST", "DELETE"):
        answer = api.open(method, row, headers=headers)
        assert answer.status_code == (204 if (method, status) == ("DELETE", 200) else status), method
        if status >= 400:
            problem(answer, status)


NONE_MATCH: dict[str, tuple[str, int, int]] = {
    # of a read, and of a write
    "the tag": ("{tag}", 304, 412),
    "weak": ("W/{tag}", 304, 412),
    "any": ("*", 304, 412),
    "one of a list": (f"{FORGED}, W/{{tag}}", 304, 412),
    "another": (FORGED, 200, 200),
    "an empty list": ("", 200, 200),
    "no quotes": ("abc", 400, 400),
}


@pytest.mark.parametrize("name", NONE_MATCH)
def test_if_none_match(api: Api, name: str) -> None:
    text, of_read, of_write = NONE_MATCH[name]
    row, tag = make(api, "/pixels")
    headers = {"If-None-Match": text.format(tag=tag)}
    assert api.get(row, headers=headers).status_code == of_read
    assert api.post(row, {"name": "n"}, headers=headers).status_code == of_write


def test_if_match_comes_first(api: Api) -> None:
    row, tag = make(api, "/pixels")
    problem(api.get(row, headers={"If-Match": FORGED, "If-None-Match": tag}), 412)


def test_a_replayed_create_has_its_tag(api: Api) -> None:
    sent = KINDS["/pixels"][0], {"Idempotency-Key": "once"}
    first, again = (api.post("/pixels", sent[0], headers=sent[1]) for _ in range(2))
    assert again.headers["Idempotency-Replayed"] == "true"
    assert first.headers["ETag"] == again.headers["ETag"]


@pytest.mark.databases
@pytest.mark.parametrize("method", ["POST", "DELETE"])
def test_what_changes_between_check_and_write(api: Api, monkeypatch: pytest.MonkeyPatch, method: str) -> None:
    """Another request is answered after the condition was found true, right before the write begins."""
    row, tag = make(api, "/links")
    really, seen = resource.begin_write, []

    def late(session: Any) -> None:
        if not seen:
            seen.append(None)
            seen.append(Context().run(api.post, row, {"title": "theirs"}))
        really(session)

    monkeypatch.setattr(resource, "begin_write", late)
    problem(api.open(method, row, data={"title": "mine"}, headers={"If-Match": tag}), 412)
    assert seen[1].status_code == 200
    assert api.get(row).json["data"]["title"] == "theirs"


LINK = {"location_url": "https://example.com/"}
KEY = {"Idempotency-Key": "once"}


def total(api: Api, path: str = "/links") -> int:
    return int(api.get(path).json["meta"]["total"])


def test_updates_and_reads_do_not_look_at_it(api: Api) -> None:
    number = api.post("/links", LINK, headers=KEY).json["data"]["id"]
    for title in ("a", "b"):
        assert api.post(f"/links/{number}", {"title": title}, headers=KEY).status_code == 200
    assert api.get(f"/links/{number}", headers=KEY).json["data"]["title"] == "b"


def test_after_a_day_the_key_is_free(api: Api, session: scoped_session[Session]) -> None:
    now = dt.datetime.now(dt.UTC)
    first = api.post("/links", LINK, headers=KEY)
    for hours, is_replay in [(23.9, True), (24.1, False)]:
        with time_machine.travel(now + dt.timedelta(hours=hours), tick=False):
            again = api.post("/links", LINK, headers=KEY)
            assert (again.data == first.data) is is_replay
            assert ("Idempotency-Replayed" in again.headers) is is_replay
    assert session.query(IdempotencyKey).count() == 1


def leave_reservation(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leaves a reservation, as a process does that is killed between reservation and commit."""

    def killed(self: idempotency.Reservation) -> None:
        pass

    with monkeypatch.context() as patched:
        patched.setattr(idempotency.Reservation, "release", killed)
        patched.setattr("app.links.services.create", killed_in_the_middle)
        problem(api.post("/links", LINK, headers=KEY), 500)


def killed_in_the_middle(user: Any, changes: Any) -> Any:
    raise RuntimeError("killed")


@pytest.mark.databases
def test_a_dead_process_holds_the_key_only_for_a_while(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    leave_reservation(api, monkeypatch)
    running = api.post("/links", LINK, headers=KEY)
    assert problem(running, 409)[0]["code"] == "idempotency_key_in_use"
    later = dt.datetime.now(dt.UTC) + idempotency.LEASE + dt.timedelta(seconds=2)
    with time_machine.travel(later):
        assert api.post("/links", LINK, headers=KEY).status_code == 201
    assert total(api) == 1


@pytest.mark.databases
def test_who_lost_the_reservation_creates_nothing(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    """A request is so slow that its lease expires, and another one takes over and creates."""
    from app.api import resource

    really, seen = resource.begin_write, []
    later = dt.datetime.now(dt.UTC) + idempotency.LEASE + dt.timedelta(seconds=2)

    def too_slow(session: Any) -> None:
        if not seen:
            seen.append(None)
            with time_machine.travel(later):
                seen.append(Context().run(api.post, "/links", LINK, headers=KEY))
        really(session)

    monkeypatch.setattr(resource, "begin_write", too_slow)
    slow = api.post("/links", LINK, headers=KEY)
    assert seen[1].status_code == 201
    problem(slow, 409)
    assert total(api) == 1
    assert api.post("/links", LINK, headers=KEY).data == seen[1].data


@pytest.mark.databases
def test_many_at_once_make_one(app: Flask, api: Api) -> None:
    answers = race(app, api, 6, LINK, KEY)
    made = [answer for answer in answers if answer.status_code == 201]
    assert len({answer.data for answer in made}) == 1
    for answer in answers:
        if answer not in made:
            problem(answer, 409)
    assert total(api) == 1
