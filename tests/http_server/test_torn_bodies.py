"""Torn bodies: a request that ends before its body is refused and changes nothing."""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Callable, Iterator

import pytest

from tests.crowds import Owner
from tests.pages import Person
from tests.server import Server, wait_for

SECONDS = 90
PASSWORD = "five small boats go upriver"
FORM, JSON = "application/x-www-form-urlencoded", "application/json"


@pytest.fixture(scope="module")
def owner(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Owner]:
    server = Server(tmp_path_factory.mktemp("torn") / "data").start()
    yield Owner(server)
    server.stop()


@pytest.fixture(scope="module")
def person(owner: Owner) -> Iterator[Person]:
    """The owner, signed in to the dashboard."""
    with Person(owner.server.url) as person:
        person.send_form(person.open("/login"), "/login", email="owner@example.com", password=PASSWORD)
        yield person


def in_chunks(body: bytes) -> tuple[str, bytes]:
    """Torn within a chunk: all bytes of the body have come, but the chunk is not complete."""
    return "Transfer-Encoding: chunked", b"%x\r\n%b" % (len(body) + 10, body)


def before_the_last_chunk(body: bytes) -> tuple[str, bytes]:
    return "Transfer-Encoding: chunked", b"%x\r\n%b\r\n" % (len(body), body)


def of_a_length(body: bytes) -> tuple[str, bytes]:
    return f"Content-Length: {len(body) + 10}", body


def with_nothing_sent(body: bytes) -> tuple[str, bytes]:
    return f"Content-Length: {len(body)}", b""


TEARS = [in_chunks, before_the_last_chunk, of_a_length, with_nothing_sent]


def send_torn(
    server: Server,
    method: str,
    path: str,
    kind: str,
    body: bytes,
    tear: Callable[[bytes], tuple[str, bytes]],
    *more: str,
) -> bytes:
    """The answer to a client that stops sending in the middle of the body but still reads."""
    framing, sent = tear(body)
    head = [
        f"{method} {path} HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        f"Content-Type: {kind}",
        framing,
        *more,
    ]
    with socket.create_connection(("127.0.0.1", server.port), timeout=SECONDS) as line:
        line.sendall("\r\n".join([*head, "", ""]).encode() + sent)
        line.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: line.recv(65536), b""))


def problem_of(answer: bytes) -> dict[str, object]:
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"application/problem+json" in head
    found: dict[str, object] = json.loads(body)
    return found


def links(owner: Owner) -> int:
    asked = {"results_per_page": 1000}
    return len(owner.session.get(f"{owner.site}/links", params=asked, timeout=SECONDS).json()["data"])


def key_of(owner: Owner) -> str:
    return f"Authorization: {owner.session.headers['Authorization']!s}"


API_BODIES = {
    FORM: b"location_url=https%3A%2F%2Fexample.com%2Fsecret",
    JSON: b'{"location_url": "https://example.com/secret"}',
    "multipart/form-data; boundary=b": (
        b'--b\r\nContent-Disposition: form-data; name="location_url"\r\n\r\nhttps://example.com/\r\n--b--\r\n'
    ),
}


@pytest.mark.parametrize("tear", TEARS, ids=lambda tear: tear.__name__)
@pytest.mark.parametrize("kind", API_BODIES)
def test_the_api(owner: Owner, kind: str, tear: Callable[[bytes], tuple[str, bytes]]) -> None:
    before = links(owner)
    answer = send_torn(owner.server, "POST", "/api/links", kind, API_BODIES[kind], tear, key_of(owner))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert problem_of(answer)["detail"] == "The body ended early."
    assert links(owner) == before


@pytest.mark.parametrize("tear", TEARS, ids=lambda tear: tear.__name__)
def test_an_update_loses_no_password(owner: Owner, tear: Callable[[bytes], tuple[str, bytes]]) -> None:
    link = owner.make_link(location_url="https://example.com/")
    body = b"location_url=https%3A%2F%2Fexample.com%2Fother&password="
    answer = send_torn(owner.server, "POST", f"/api/links/{link}", FORM, body, tear, key_of(owner))
    assert answer.startswith(b"HTTP/1.1 400 ")
    found = owner.session.get(f"{owner.site}/links/{link}", timeout=SECONDS).json()["data"]
    assert found["location_url"] == "https://example.com/"


def test_an_endpoint_that_reads_no_body(owner: Owner) -> None:
    link = owner.make_link(location_url="https://example.com/")
    for method, path in (("DELETE", f"/api/links/{link}"), ("GET", f"/api/links/{link}")):
        answer = send_torn(owner.server, method, path, FORM, b"x=1", of_a_length, key_of(owner))
        assert answer.startswith(b"HTTP/1.1 400 ")
    assert owner.session.get(f"{owner.site}/links/{link}", timeout=SECONDS).status_code == 200


@pytest.mark.full
def test_what_comes_before_a_malformed_body_still_does(owner: Owner) -> None:
    send = owner.server, "POST"
    assert send_torn(*send, "/api/links", FORM, b"x=1", in_chunks).startswith(b"HTTP/1.1 401 ")
    assert send_torn(*send, "/api/nothing", FORM, b"x=1", in_chunks, key_of(owner)).startswith(
        b"HTTP/1.1 404 "
    )
    assert send_torn(*send, "/api/links", "text/plain", b"x", in_chunks, key_of(owner)).startswith(
        b"HTTP/1.1 415 "
    )


@pytest.mark.parametrize("tear", TEARS, ids=lambda tear: tear.__name__)
def test_the_dashboard(owner: Owner, person: Person, tear: Callable[[bytes], tuple[str, bytes]]) -> None:
    before = links(owner)
    token = token_of(person)
    cookies = "Cookie: " + "; ".join(f"{name}={value}" for name, value in person.cookies.items())
    body = f"csrf_token={token}&location_url=https%3A%2F%2Fexample.com%2F&password=".encode()
    answer = send_torn(owner.server, "POST", "/dashboard/links/new", FORM, body, tear, cookies)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"The body ended early." in answer
    assert links(owner) == before


def token_of(person: Person) -> str:
    found = re.search(r'name="csrf_token" value="([^"]+)"', person.open("/dashboard/account/").text)
    assert found
    return found[1]


@pytest.mark.parametrize("tear", TEARS, ids=lambda tear: tear.__name__)
def test_signing_in(owner: Owner, tear: Callable[[bytes], tuple[str, bytes]]) -> None:
    answer = send_torn(owner.server, "POST", "/login", FORM, b"email=a&password=b", tear)
    assert answer.startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize("tear", TEARS, ids=lambda tear: tear.__name__)
def test_a_visitors_password(owner: Owner, tear: Callable[[bytes], tuple[str, bytes]]) -> None:
    """A torn form is refused although the whole password has come: it might not have been the whole."""
    alias = f"gate-{tear.__name__.replace('_', '-')}"
    owner.make_link(url=alias, location_url="https://example.com/", password="open")
    answer = send_torn(owner.server, "POST", f"/{alias}", FORM, b"password=open", tear)
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert b"set-cookie" not in answer.lower()


def test_an_import(owner: Owner, person: Person) -> None:
    cookies = "Cookie: " + "; ".join(f"{name}={value}" for name, value in person.cookies.items())
    token = f"X-CSRFToken: {token_of(person)}"
    body = b'--b\r\nContent-Disposition: form-data; name="file"; filename="a.csv"\r\n\r\nlocation_url\r\n'
    kind = "multipart/form-data; boundary=b"
    answer = send_torn(owner.server, "POST", "/dashboard/imports/", kind, body, in_chunks, cookies, token)
    assert answer.startswith(b"HTTP/1.1 400 ")
    folder = owner.server.data_dir / "imports"
    wait_for(lambda: not folder.exists() or not list(folder.glob("*.csv")), "an empty folder")


def test_a_client_that_goes_without_listening_changes_nothing_either(owner: Owner) -> None:
    before = links(owner)
    for tear in TEARS:
        framing, sent = tear(API_BODIES[FORM])
        head = f"POST /api/links HTTP/1.1\r\nHost: a\r\n{key_of(owner)}\r\nContent-Type: {FORM}\r\n{framing}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", owner.server.port), timeout=SECONDS) as line:
            line.sendall(head.encode() + sent)
    owner.make_link(location_url="https://example.com/")
    assert links(owner) == before + 1


# --- whole bodies are taken, however they are sent


def test_leave_to_send_is_given(owner: Owner) -> None:
    """A client that sends `Expect: 100-continue` gets the interim answer before it sends its body."""
    body = API_BODIES[FORM]
    with socket.create_connection(("127.0.0.1", owner.server.port), timeout=SECONDS) as line:
        line.sendall(expecting(owner, len(body)))
        assert line.recv(65536) == b"HTTP/1.1 100 Continue\r\n\r\n"
        line.sendall(body)
        assert line.recv(65536).startswith(b"HTTP/1.1 201 ")


@pytest.mark.full
def test_leave_is_refused_where_the_body_is_too_large(owner: Owner) -> None:
    with socket.create_connection(("127.0.0.1", owner.server.port), timeout=SECONDS) as line:
        line.sendall(expecting(owner, 11 * 1024 * 1024))
        assert line.recv(65536).startswith(b"HTTP/1.1 413 ")


def expecting(owner: Owner, length: int) -> bytes:
    return (
        f"POST /api/links HTTP/1.1\r\nHost: a\r\n{key_of(owner)}\r\nContent-Type: {FORM}\r\n"
        f"Content-Length: {length}\r\nExpect: 100-continue\r\n\r\n"
    ).encode()


def test_many_small_chunks(owner: Owner) -> None:
    body = API_BODIES[FORM] + b"&notes=" + b"x" * 1000
    head = (
        f"POST /api/links HTTP/1.1\r\nHost: a\r\n{key_of(owner)}\r\nContent-Type: {FORM}\r\n"
        "Transfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
    )
    with socket.create_connection(("127.0.0.1", owner.server.port), timeout=SECONDS) as line:
        line.sendall(head.encode())
        for number in range(len(body)):
            line.sendall(b"1\r\n%b\r\n" % body[number : number + 1])
        line.sendall(b"0\r\n\r\n")
        assert line.recv(65536).startswith(b"HTTP/1.1 201 ")


TOO_LARGE = {"just too large": 10 * 1024 * 1024 + 1, "far too large": 60 * 1024 * 1024}


@pytest.mark.full
@pytest.mark.parametrize("size", TOO_LARGE.values(), ids=TOO_LARGE)
@pytest.mark.parametrize("is_chunked", [False, True], ids=["of a length", "in chunks"])
def test_who_sends_too_much_hears_why(owner: Owner, size: int, is_chunked: bool) -> None:
    """Even a client that sends everything before it reads gets the 413, and can go on."""

    def pieces() -> Iterator[bytes]:
        for _ in range(0, size, 65536):
            yield b"x" * min(65536, size)

    data = pieces() if is_chunked else b"x" * size
    headers = {"Content-Type": FORM}
    answer = owner.session.post(f"{owner.site}/links", data=data, headers=headers, timeout=SECONDS)
    assert answer.status_code == 413
    assert owner.session.get(f"{owner.site}/links", timeout=SECONDS).status_code == 200


def test_a_large_body_goes_through_a_file(owner: Owner) -> None:
    body = API_BODIES[FORM] + b"&notes=" + b"x" * 2000 + b"&unknown=" + b"y" * (9 * 1024 * 1024)
    answer = owner.session.post(
        f"{owner.site}/links", data=body, headers={"Content-Type": FORM}, timeout=SECONDS
    )
    assert answer.status_code == 201
