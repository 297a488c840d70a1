"""Section 1, "Idempotency": a request that is sent twice."""

from __future__ import annotations

import struct
import zlib
from threading import Barrier, Thread
from typing import Any

import pytest
import requests

from tests.contract.client import THERE, Client, alias, fields, problem

PIXEL = {"type": "social_a", "name": "Shop", "pixel": "123"}
TOGETHER = 4
SIDE = 4000  # pixels; such a picture takes a server a while to read


def chunk(kind: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))


def picture(side: int, shade: int = 0) -> bytes:
    """A PNG of one colour."""
    rows = (b"\0" + bytes([shade]) * side * 3) * side
    head = struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + chunk(b"IHDR", head)
        + chunk(b"IDAT", zlib.compress(rows, 1))
        + chunk(b"IEND", b"")
    )


def at_once(client: Client, key: str, content: bytes) -> list[requests.Response]:
    """The answers to the same create of a link with a picture, sent several times at once."""
    start, answers = Barrier(TOGETHER), []

    def send() -> None:
        own = Client(client.url, client.key)
        files: list[Any] = [("location_url", (None, THERE)), ("cloaking_opengraph", ("p.png", content))]
        start.wait()
        answers.append(own.call("POST", "/links", files=files, headers={"Idempotency-Key": key}))

    threads = [Thread(target=send) for _ in range(TOGETHER)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for answer in answers:
        client.remember("/links", answer)
    return answers


def test_while_the_first_still_runs_it_is_409(api: Client) -> None:
    key, content = alias(), picture(SIDE)
    answers = at_once(api, key, content)
    running = [answer for answer in answers if answer.status_code == 409]
    made = [answer for answer in answers if answer.status_code == 201]
    assert running, [answer.status_code for answer in answers]
    assert len(running) + len(made) == TOGETHER
    for answer in running:
        problem(answer, 409)
        assert int(answer.headers["Retry-After"]) >= 1
    assert len({answer.text for answer in made}) == 1
    assert [answer.headers.get("Idempotency-Replayed") for answer in made].count(None) == 1
    # afterwards the stored answer is replayed
    files: list[Any] = [("location_url", (None, THERE)), ("cloaking_opengraph", ("p.png", content))]
    again = api.call("POST", "/links", files=files, headers={"Idempotency-Key": key})
    assert (again.status_code, again.text) == (201, made[0].text)
    assert again.headers["Idempotency-Replayed"] == "true"


def test_a_create_under_one_key_happens_once(api: Client) -> None:
    headers = {"Idempotency-Key": alias()}
    first, again = (api.post("/pixels", PIXEL, headers=headers) for _ in range(2))
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert first.headers["Location"] == again.headers["Location"]
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["Idempotency-Replayed"] == "true"


@pytest.mark.parametrize("path", ["/links", "/notification-handlers", "/projects", "/domains"])
def test_on_any_create(api: Client, path: str) -> None:
    sent = {
        "/links": {"location_url": THERE}, "/projects": {"name": "P"}, "/domains": {"host": f"{alias()}.example"},
        "/notification-handlers": {"type": "email", "name": "n", "email": "me@example.com"},
    }[path]  # fmt: skip
    headers = {"Idempotency-Key": alias()}
    first, again = (api.post(path, sent, headers=headers) for _ in range(2))
    assert (first.status_code, first.content) == (again.status_code, again.content)
    assert again.headers["Idempotency-Replayed"] == "true"


def test_the_whole_object_is_replayed_as_it_was(api: Client) -> None:
    headers = {"Idempotency-Key": alias(), "Prefer": "return=representation"}
    first = api.post("/pixels", PIXEL, headers=headers)
    api.post(f"/pixels/{first.json()['data']['id']}", {"name": "Other"})
    again = api.post("/pixels", PIXEL, headers=headers)
    assert again.content == first.content
    assert again.headers["Preference-Applied"] == "return=representation"


@pytest.mark.parametrize("way", ["data", "json"])
def test_the_same_fields_in_another_encoding_are_the_same_request(api: Client, way: str) -> None:
    headers = {"Idempotency-Key": alias()}
    first = api.post("/pixels", PIXEL, headers=headers)
    again = api.call("POST", "/pixels/", headers=headers, **{way: PIXEL})
    assert (again.status_code, again.content) == (201, first.content)
    assert again.headers["Idempotency-Replayed"] == "true"


def test_another_request_under_the_same_key_is_422(api: Client) -> None:
    headers = {"Idempotency-Key": alias()}
    assert api.post("/pixels", PIXEL, headers=headers).status_code == 201
    problem(api.post("/pixels", {**PIXEL, "name": "Other"}, headers=headers), 422)
    problem(api.post("/projects", PIXEL, headers=headers), 422)


def test_another_file_is_another_request(api: Client) -> None:
    headers = {"Idempotency-Key": alias()}

    def send(shade: int) -> requests.Response:
        files: list[Any] = [
            ("location_url", (None, THERE)),
            ("cloaking_favicon", ("p.png", picture(2, shade))),
        ]
        answer = api.call("POST", "/links", files=files, headers=headers)
        api.remember("/links", answer)
        return answer

    assert [send(1).status_code, send(1).status_code] == [201, 201]
    problem(send(2), 422)


def test_a_request_that_created_nothing_may_be_tried_again(api: Client) -> None:
    headers = {"Idempotency-Key": alias()}
    assert fields(api.post("/pixels", {**PIXEL, "name": ""}, headers=headers)) == {"name"}
    good = api.post("/pixels", PIXEL, headers=headers)
    assert (good.status_code, "Idempotency-Replayed" in good.headers) == (201, False)


def test_one_users_keys_are_not_anothers(api: Client, other: Client) -> None:
    """The same `Idempotency-Key` from two users: two requests."""
    headers = {"Idempotency-Key": alias()}
    mine, theirs = (one.post("/pixels", PIXEL, headers=headers) for one in (api, other))
    assert (mine.status_code, theirs.status_code) == (201, 201)
    assert "Idempotency-Replayed" not in theirs.headers
    assert mine.json() != theirs.json()


@pytest.mark.parametrize("key", ["", "x" * 256, "tab\there"], ids=["empty", "too long", "a tab"])
def test_what_is_no_idempotency_key(api: Client, key: str) -> None:
    problem(api.post("/pixels", PIXEL, headers={"Idempotency-Key": key}), 400)


def test_the_longest_idempotency_key(api: Client) -> None:
    key = (alias() + "x" * 255)[:253] + " ~"
    again = [api.post("/pixels", PIXEL, headers={"Idempotency-Key": key}) for _ in range(2)][1]
    assert again.headers["Idempotency-Replayed"] == "true"
