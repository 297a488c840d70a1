"""Keys go to their own instance alone: what is stored, what is sent, and what is said of it."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import httpx
import keyring
import pytest
from click.testing import CliRunner, Result
from keyring.backend import KeyringBackend
from waypost_client import ApiError, AsyncClient, Client
from waypost_client.calls import Call, Endpoint, plain
from waypost_client.cli import __main__, profiles  # noqa: F401  the first adds all commands
from waypost_client.cli.command import way
from waypost_client.client import RETRIES, base_of, instance_at

USER = {"id": 1, "name": None, "timezone": "UTC", "language": "en", "is_admin": False}


class Receiver(ThreadingHTTPServer):
    """A server of one's own: `connections` counts them, `sent` is all that came. It redirects to `target`."""

    def __init__(self, target: str = "", status: int = 302) -> None:
        super().__init__(("127.0.0.1", 0), Answering)
        self.target, self.status = target, status
        self.connections, self.sent = 0, list[str]()
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.thread = threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.01})
        self.thread.start()

    def get_request(self) -> Any:
        self.connections += 1
        return super().get_request()

    def stop(self) -> None:
        self.shutdown()
        self.thread.join()
        self.server_close()


class Answering(BaseHTTPRequestHandler):
    """Answers every request as an account's, or with the receiver's redirect."""

    server: Receiver

    def answer(self) -> None:
        self.server.sent.append(f"{self.requestline}\n{self.headers}")
        target = self.server.target
        body = (
            b""
            if target
            else json.dumps(
                {"data": {**USER, "email": self.server.url, "datetime": "2026-11-01 12:00:00"}}
            ).encode()
        )
        self.send_response(self.server.status if target else 200)
        if target:
            self.send_header("Location", f"{target}{self.path}")
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = answer  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Says nothing on standard error."""


@pytest.fixture
def receiver() -> Iterator[Callable[..., Receiver]]:
    """Starts receivers, and ends them after the test."""
    made: list[Receiver] = []

    def start(*options: Any) -> Receiver:
        made.append(Receiver(*options))
        return made[-1]

    yield start
    for one in made:
        one.stop()


class Memory(KeyringBackend):
    """A keyring of a test's own."""

    priority = 1

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.kept: dict[tuple[str, str], str] = {}

    def set_password(self, service: str, username: str, password: str) -> None:
        self.kept[service, username] = password

    def get_password(self, service: str, username: str) -> str | None:
        return self.kept.get((service, username))

    def delete_password(self, service: str, username: str) -> None:
        del self.kept[service, username]


@pytest.fixture
def memory() -> Iterator[Memory]:
    before, made = keyring.get_keyring(), Memory()
    keyring.set_keyring(made)
    yield made
    keyring.set_keyring(before)


@pytest.fixture(params=["file", "keyring"])
def store(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Where keys are kept: both are tried."""
    place: str = request.param
    if place == "file":
        monkeypatch.setattr(profiles, "usable_keyring", lambda: None)
    else:
        request.getfixturevalue("memory")
    return place


def run(*arguments: str, stdin: str = "", code: int = 0) -> Result:
    done = CliRunner().invoke(way, list(arguments), input=stdin, prog_name="way")
    assert done.exit_code == code, done.output
    return done


def email(*arguments: str) -> Any:
    return json.loads(run("whoami", "--json", *arguments).stdout)["email"]


COMMANDS = {
    "a read": ("whoami",),
    "a create": ("create", "https://example.com/"),
    "tools": ("mcp",),
    "its profile": ("whoami", "--profile", "work"),
}


@pytest.mark.parametrize("command", COMMANDS.values(), ids=COMMANDS)
def test_nothing_goes_to_an_instance_that_no_key_is_stored_for(
    command: tuple[str, ...], store: str, receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = receiver(), receiver()
    for profile in ("default", "work"):
        run("login", first.url, "--profile", profile, stdin="wp_first\n")
    assert "Bearer wp_first" in first.sent[0]
    asked = first.connections
    for url in (second.url, f"{first.url}/other", first.url.replace("http", "https")):
        monkeypatch.setenv("WAY_URL", url)
        said = run(*command, code=1).stderr
        host = url.partition("://")[2]
        assert said == (
            f"Error: There is no key for {url}. Run way login {url} --profile {host}, or set WAY_KEY.\n"
        )
    assert (first.connections, second.connections) == (asked, 0)


def test_each_instance_gets_the_key_that_was_stored_for_it(
    store: str, receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = receiver(), receiver()
    run("login", first.url, stdin="wp_first\n")
    run("login", f"{second.url}/", "--profile", "second", stdin=" wp_second \n")
    assert (email(), email("--profile", "second")) == (first.url, second.url)
    for one in (first, second):
        monkeypatch.setenv("WAY_URL", one.url.upper().replace("HTTP", "http"))
        assert email() == one.url
    assert all("wp_second" not in request for request in first.sent)
    assert all("Bearer wp_second\n" in request and "wp_first" not in request for request in second.sent)
    assert (len(first.sent), len(second.sent)) == (3, 3)
    monkeypatch.delenv("WAY_URL")
    run("login", second.url, "--profile", "again", stdin="wp_second\n")
    monkeypatch.setenv("WAY_URL", second.url)
    assert "second, again" in run("whoami", code=1).stderr
    assert email("--profile", "again") == second.url


def test_a_key_of_the_environment_is_for_the_address_of_the_environment(
    receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, other = receiver(), receiver()
    profiles.write_profiles({"default": {"url": stored.url, "key": "wp_stored"}})
    monkeypatch.setenv("WAY_KEY", "wp_environment")
    assert "WAY_KEY is set without WAY_URL" in run("whoami", code=1).stderr
    assert stored.connections == 0
    monkeypatch.setenv("WAY_URL", other.url)
    assert email() == other.url
    assert "Bearer wp_environment\n" in other.sent[0]


def test_variables_with_the_prefix_of_the_server_are_not_read(
    receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    stored, other = receiver(), receiver()
    profiles.write_profiles({"default": {"url": stored.url, "key": "wp_stored"}})
    monkeypatch.setenv("WAYPOST_URL", other.url)
    monkeypatch.setenv("WAYPOST_API_KEY", "wp_other")
    done = run("whoami", "--json")
    assert json.loads(done.stdout)["email"] == stored.url
    assert "Set WAY_URL instead" in done.stderr
    assert "Set WAY_KEY instead" in done.stderr
    assert (other.connections, "wp_other" in stored.sent[0]) == (0, False)


def test_a_key_that_an_older_version_stored_is_for_the_address_beside_it(
    store: str, receiver: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = receiver(), receiver()
    row = {"url": f"{first.url}/"}
    if store == "file":
        row["key"] = "wp_old"
    else:
        keyring.set_password(profiles.SERVICE, "default", "wp_old")
    profiles.write_profiles({"default": row})
    assert email() == first.url
    monkeypatch.setenv("WAY_URL", first.url)
    assert email() == first.url
    assert all("Bearer wp_old\n" in request for request in first.sent)
    monkeypatch.setenv("WAY_URL", second.url)
    run("whoami", code=1)
    assert second.connections == 0
    monkeypatch.delenv("WAY_URL")
    run("login", second.url, stdin="wp_new\n")
    assert email() == second.url
    assert all("Bearer wp_new\n" in request for request in second.sent)


def test_a_keyring_keeps_the_key_for_its_instance(memory: Memory, receiver: Any) -> None:
    first, second = receiver(), receiver()
    keyring.set_password(profiles.SERVICE, "default", "wp_old")
    profiles.write_profiles({"default": {"url": first.url}})
    assert "keyring" in run("login", first.url, stdin="wp_first\n").stdout
    assert list(memory.kept.values()) == ["wp_first"]  # the older version's is gone
    assert "wp_first" not in profiles.profiles_file().read_text()
    rows = profiles.read_profiles()
    profiles.write_profiles({"default": {**rows["default"], "url": second.url}})  # by hand, say
    assert "There is no key" in run("whoami", code=1).stderr
    assert second.connections == 0
    profiles.write_profiles(rows)
    run("login", second.url, stdin="wp_second\n")
    assert list(memory.kept.values()) == ["wp_second"]
    run("logout")
    assert memory.kept == {}


def test_a_login_that_is_not_written_down_leaves_the_one_before(memory: Memory, receiver: Any) -> None:
    first, second = receiver(), receiver()
    run("login", first.url, stdin="wp_first\n")
    profiles.profiles_file().chmod(0o644)
    assert "chmod 600" in run("login", second.url, stdin="wp_second\n", code=1).stderr
    profiles.profiles_file().chmod(0o600)
    assert email() == first.url
    assert all("wp_second" not in request for request in first.sent)


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
@pytest.mark.parametrize("follows", [True, False], ids=["a client that follows", "its own client"])
def test_a_redirect_takes_the_key_nowhere(status: int, follows: bool, receiver: Any) -> None:
    other = receiver()
    redirects = receiver(other.url, status)
    http = httpx.Client(follow_redirects=True) if follows else None
    with Client(redirects.url, "wp_x", http=http) as client:
        for call in (client.account.user, lambda: client.links.create("https://example.com/")):
            with pytest.raises(ApiError) as error:
                call()
            assert error.value.status == status

    async def ask() -> None:
        http = httpx.AsyncClient(follow_redirects=True) if follows else None
        async with AsyncClient(redirects.url, "wp_x", http=http) as client:
            with pytest.raises(ApiError):
                await client.account.user()

    asyncio.run(ask())
    assert (len(redirects.sent), other.connections) == (3, 0)


SPELLINGS = {
    "HTTPS://Go.Example:443/": "https://go.example",
    "https://go.example": "https://go.example",
    "http://go.example:80/a/../b//": "http://go.example/b",
    "https://go.example:80": "https://go.example:80",
    "http://[::1]:8000/Way": "http://[::1]:8000/Way",
    "https://bücher.example/": "https://xn--bcher-kva.example",
}


@pytest.mark.parametrize("url", SPELLINGS)
def test_an_address_has_one_spelling(url: str) -> None:
    assert base_of(url) == SPELLINGS[url]


NO_ADDRESSES = (
    "",
    "go.example",
    "ftp://go.example",
    "https://",
    "https://go.example?",
    "https://go.example#a",
)


@pytest.mark.parametrize(
    "url", [*NO_ADDRESSES, " https://go.example", "https://[", "https://a:99999", "https://a\nb"]
)
def test_what_is_no_address_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="is not the address"):
        base_of(url)
    if url:
        monkeypatch.setenv("WAY_URL", url)
        assert "is not the address" in run("whoami", code=1).stderr


@pytest.mark.parametrize("url", ["https://you:s3cret@go.example", "https://go.example\\@s3cret.example"])
def test_an_address_with_a_password_is_refused_and_not_repeated(url: str) -> None:
    with pytest.raises(ValueError, match="no user name") as error:
        Client(url, "wp_x")
    assert "s3cret" not in str(error.value)


@pytest.mark.parametrize("key", ["wp_s3cret\n", "wp_s3cret ", "wp_s3crét", "wp_s3cret\x00"])
def test_what_can_be_no_key_is_refused_and_not_repeated(key: str, receiver: Any) -> None:
    with pytest.raises(ValueError, match="one line") as error:
        Client(receiver().url, key)
    assert "s3cr" not in str(error.value)
    said = run("login", receiver().url, stdin="wp_s3cr et\n", code=2).output
    assert "s3cr" not in said


def test_the_key_is_in_no_description_of_an_object() -> None:
    instance = instance_at("https://go.example", "wp_s3cret", RETRIES)
    request = instance.exchange(Endpoint("read", "GET", "/user"), Call(plain)).send(None)
    shown = repr((instance, request, profiles.Profile("default", "https://go.example", "wp_s3cret")))
    assert "s3cret" not in shown


@pytest.mark.parametrize("row", [1, {}, {"url": 1}, ["url"]])
def test_a_file_that_is_none_of_profiles_is_named(row: Any) -> None:
    profiles.write_profiles({"default": row})
    assert "can't be read" in run("whoami", code=1).stderr
