"""Section 1: entity tags, and conditional reads and writes."""

from __future__ import annotations

from threading import Barrier, Thread
from typing import Any

import pytest

from tests.contract.client import THERE, Client, alias, problem

# what makes a row, and what changes it
KINDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "/links": ({"location_url": THERE}, {"title": "T"}),
    "/pixels": ({"type": "social_a", "name": "Shop", "pixel": "123"}, {"name": "Other"}),
    "/notification-handlers": (
        {"type": "email", "name": "Me", "email": "me@example.com"},
        {"is_enabled": "0"},
    ),
    "/projects": ({"name": "Launch"}, {"color": "#0b7285"}),
    "/domains": ({"host": f"{alias()}.example"}, {"custom_index_url": THERE}),
}
TOGETHER = 4


@pytest.mark.parametrize("path", KINDS)
def test_a_tag_guards_a_write(api: Client, path: str) -> None:
    fields, change = KINDS[path]
    made = api.post(path, fields)
    row, first = f"{path}/{made.json()['data']['id']}", made.headers["ETag"]
    assert api.get(row).headers["ETag"] == first
    changed = api.post(row, change, headers={"If-Match": first})
    assert changed.status_code == 200
    second = changed.headers["ETag"]
    assert api.get(row).headers["ETag"] == second != first
    for method in ("POST", "DELETE"):
        problem(api.call(method, row, headers={"If-Match": first}), 412)
    assert api.call("DELETE", row, headers={"If-Match": second}).status_code == 204


@pytest.mark.parametrize("path", KINDS)
def test_a_reader_who_knows_it_gets_304(api: Client, path: str) -> None:
    row = f"{path}/{api.make(path, **KINDS[path][0])}"
    tag = api.get(row).headers["ETag"]
    for known in (tag, f"W/{tag}", f'"other", {tag}', "*"):
        answer = api.get(row, headers={"If-None-Match": known})
        assert (answer.status_code, answer.content, answer.headers["ETag"]) == (304, b"", tag)
    assert api.get(row, headers={"If-None-Match": '"other"'}).status_code == 200


def test_a_click_changes_no_tag(api: Client) -> None:
    link = api.link()
    tag = api.get(f"/links/{link}").headers["ETag"]
    assert api.visit(link).status_code == 302
    assert api.get(f"/links/{link}").headers["ETag"] == tag


HEADERS = {'"other"': 412, "*": 200, "W/{tag}": 412, '"other", {tag}': 200, "{tag}": 200, "other": 400}


@pytest.mark.parametrize("text", HEADERS)
def test_what_if_match_may_say(api: Client, text: str) -> None:
    row = f"/pixels/{api.make('/pixels', **KINDS['/pixels'][0])}"
    sent = text.format(tag=api.get(row).headers["ETag"])
    answer = api.post(row, {"name": "Other"}, headers={"If-Match": sent})
    assert answer.status_code == HEADERS[text]
    assert api.data(row)["name"] == ("Other" if HEADERS[text] == 200 else "Shop")


def test_the_place_of_412(api: Client) -> None:
    row, headers = f"/links/{api.link()}", {"If-Match": '"other"'}
    problem(api.post("/links/999999999", {"http_status_code": "x"}, headers=headers), 404)
    problem(api.post(row, {"http_status_code": "x"}, headers=headers), 412)
    problem(api.post(row, {"http_status_code": "x"}, headers={"If-Match": "*"}), 422)


def test_of_writers_at_once_one_wins(api: Client) -> None:
    row, start, answers = f"/links/{api.link()}", Barrier(TOGETHER), []
    tag = api.get(row).headers["ETag"]

    def write(title: str) -> None:
        own = Client(api.url, api.key)
        start.wait()
        answers.append((title, own.post(row, {"title": title}, headers={"If-Match": tag})))

    threads = [Thread(target=write, args=(f"title {number}",)) for number in range(TOGETHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    won = [title for title, answer in answers if answer.status_code == 200]
    assert won == [api.data(row)["title"]]
    for title, answer in answers:
        if title not in won:
            problem(answer, 412)
