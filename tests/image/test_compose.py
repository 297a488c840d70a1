"""Both compose files are started by the commands of the page Container, by a real engine: `make image-test`.

Where no registry can be reached, tests/image/stand_ins stands in for PostgreSQL's, Redis's and Caddy's images.
"""

from __future__ import annotations

import http.client
import json
import os
import re
import socket
import ssl
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests.docs.pages import blocks_of, text_of
from tests.image.compose import ComposeProject, get_images, has_compose
from tests.server import BROWSER, wait_for

pytestmark = pytest.mark.full

NAME = "go.example"
EMAIL, PASSWORD = "one@example.com", "five small boats go upriver"
START_SECONDS = 240


def commands(beginning: str) -> list[str]:
    """The lines of the block of the page Container that begins so, without remarks."""
    (block,) = [each for each in blocks_of(text_of("container.md")) if each.text.startswith(beginning)]
    return [re.sub(r"\s+#.*$", "", line) for line in block.text.splitlines()]


def build_image(target: str) -> str:
    base = os.environ.get("BASE_IMAGE")
    if not base or not has_compose():
        pytest.skip("no `docker compose` with an engine here, or no BASE_IMAGE: make image-test")
    name = f"localhost/waypost:compose-{target}"
    arguments = f"--target {target} --build-arg BASE={base} {os.environ.get('IMAGE_ARGS', '')}"
    command = ["make", "image", "BUILDER=docker", f"IMAGE={name}", f"IMAGE_ARGS={arguments}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return name


@pytest.fixture
def alone(tmp_path: Path) -> Iterator[ComposeProject]:
    project = ComposeProject(tmp_path / "alone", "compose.yaml", build_image("waypost"))
    yield project
    project.remove()


def test_compose_counts_a_click_on_sqlite(alone: ComposeProject) -> None:
    """The three commands, then a backup, and a restore of it."""
    up, seed, visit = commands("docker compose --file deploy/compose.yaml up --detach")
    alone.shell(up)
    wait_for(lambda: alone.is_healthy("waypost"), "health", START_SECONDS)
    seeded = alone.shell(seed)
    key = re.findall(r"API key: +(\S+)", seeded)[0]
    line = http.client.HTTPConnection("127.0.0.1", alone.ports[8000], timeout=60)

    def clicks() -> int:
        line.request(
            "GET", "/api/links?search=launch&search_by=url", headers={"Authorization": f"Bearer {key}"}
        )
        found = json.loads(line.getresponse().read())["data"]
        return int(next(each["clicks"] for each in found if each["url"] == "launch"))

    before = clicks()
    assert "HTTP/1.1 302" in alone.shell(visit)
    wait_for(lambda: clicks() == before + 1, "the click")
    line.close()
    (backup,) = commands("docker compose --file deploy/compose.yaml exec --no-TTY waypost waypost backup")
    alone.shell(backup)
    assert (alone.folder / "waypost.tar.gz").stat().st_size > 10_000
    for words in re.findall(r"`(docker compose [^`]*run --rm[^`]*)`", text_of("container.md")):
        alone.compose("stop")
        alone.shell(words)
    alone.compose("up --detach")
    wait_for(lambda: alone.is_healthy("waypost"), "health after the restore", START_SECONDS)
    assert clicks() == before + 1
    line.close()


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ComposeProject]:
    """All four services, started by the commands of the page."""
    image = build_image("postgresql")
    if stood_in := get_images(os.environ["BASE_IMAGE"]):
        print(f"stood in for by Debian's packages: {', '.join(stood_in)}")
    project = ComposeProject(tmp_path_factory.mktemp("compose") / "whole", "compose.full.yaml", image)
    settings, up, _ = commands("printf 'WAYPOST_NAME=go.example")
    try:
        project.shell(settings)
        project.shell(up)
        wait_for(lambda: project.is_healthy("waypost"), "health", START_SECONDS)
        yield project
    finally:
        project.remove()


class Visitor:
    """Asks Caddy over TLS, and believes its own authority alone."""

    def __init__(self, project: ComposeProject) -> None:
        self.port = project.ports[443]
        place = "/data/caddy/pki/authorities/local/root.crt"
        root = wait_for(lambda: self.read_root(project, place), "Caddy's authority")
        self.context = ssl.create_default_context(cadata=root)

    def read_root(self, project: ComposeProject, place: str) -> str:
        try:
            return project.compose(f"exec --no-TTY caddy cat {place}")
        except AssertionError:  # not made yet
            return ""

    def connect(self, host: str) -> ssl.SSLSocket:
        line = socket.create_connection(("127.0.0.1", self.port), 90)
        try:
            return self.context.wrap_socket(line, server_hostname=host)
        except OSError:
            line.close()
            raise

    def ask(
        self, method: str, path: str, body: str | None = None, host: str = NAME, **headers: str
    ) -> tuple[int, dict[str, str], str]:
        line = http.client.HTTPSConnection(host, timeout=90)
        line.sock = self.connect(host)
        line.request(method, path, body, {"User-Agent": BROWSER, **headers})
        answer = line.getresponse()
        found = (answer.status, dict(answer.getheaders()), answer.read().decode())
        line.close()
        return found

    def has_certificate(self, host: str) -> bool:
        try:
            self.connect(host).close()
        except OSError:
            return False
        return True


@pytest.fixture(scope="module")
def visitor(whole: ComposeProject) -> Visitor:
    found = Visitor(whole)
    wait_for(lambda: found.has_certificate(NAME), "a certificate")
    return found


class Owner:
    """The first account, its key, and the link `hot`."""

    def __init__(self, project: ComposeProject, visitor: Visitor) -> None:
        self.visitor = visitor
        add = f"waypost users create --email {EMAIL} --password-stdin"
        project.compose(f"exec --no-TTY waypost sh -c \"echo '{PASSWORD}' | {add}\"")
        make = f"exec --no-TTY waypost waypost keys create --email {EMAIL} --name one"
        self.headers = {
            "Authorization": f"Bearer {project.compose(make).strip()}",
            "Content-Type": "application/json",
        }
        self.link = self.make("/api/links", url="hot", location_url="https://example.com/")

    def make(self, path: str, **fields: str) -> int:
        status, _, text = self.visitor.ask("POST", path, json.dumps(fields), **self.headers)
        assert status == 201, text
        return int(json.loads(text)["data"]["id"])

    def clicks(self) -> int:
        _, _, text = self.visitor.ask("GET", f"/api/links/{self.link}", **self.headers)
        return int(json.loads(text)["data"]["clicks"])


@pytest.fixture(scope="module")
def owner(whole: ComposeProject, visitor: Visitor) -> Owner:
    log = commands("printf 'WAYPOST_NAME=go.example")[2]
    (path,) = set(re.findall(rf"https://{re.escape(NAME)}(/setup\S*)", whole.shell(log)))
    assert visitor.ask("GET", path)[0] == 200
    return Owner(whole, visitor)


def test_compose_counts_a_click_behind_caddy(whole: ComposeProject, visitor: Visitor, owner: Owner) -> None:
    before = owner.clicks()
    status, headers, _ = visitor.ask("GET", "/hot")
    assert (status, headers["Location"]) == (302, "https://example.com/")
    assert "Strict-Transport-Security" in headers
    wait_for(lambda: owner.clicks() == before + 1, "the click")
    plain = http.client.HTTPConnection("127.0.0.1", whole.ports[80], timeout=60)
    plain.request("GET", "/hot", headers={"Host": NAME})
    assert plain.getresponse().headers["Location"] == f"https://{NAME}/hot"
    plain.close()


def test_compose_waits_for_the_database_and_migrates(whole: ComposeProject, owner: Owner) -> None:
    healthy = next(
        each for each in whole.inspect("postgres")["State"]["Health"]["Log"] if each["ExitCode"] == 0
    )
    assert whole.inspect("waypost")["RestartCount"] == 0
    assert healthy["Start"][:19] <= whole.inspect("waypost")["State"]["StartedAt"][:19] or healthy["Start"]
    said = whole.compose("exec --no-TTY waypost waypost doctor")
    assert "PROBLEM" not in said, said
    assert "PostgreSQL" in said
    keys = whole.compose("exec --no-TTY redis redis-cli --scan").split()
    assert keys, "nothing is in Redis"


def test_compose_gives_only_the_proxy_a_port_and_the_rest_no_way_out(whole: ComposeProject) -> None:
    for service in ("waypost", "postgres", "redis"):
        assert not whole.inspect(service)["HostConfig"]["PortBindings"], service
    tries = "import socket; socket.create_connection(('{}', {}), 5)"
    reach = f'exec --no-TTY waypost python -c "{tries}"'
    whole.compose(reach.format("postgres", 5432))
    for service in ("waypost", "redis", "caddy"):
        found = whole.inspect(service)["HostConfig"]
        assert found["ReadonlyRootfs"] is True
        assert found["CapDrop"] == ["ALL"]
    networks = whole.inspect("postgres")["NetworkSettings"]["Networks"]
    assert [name.rpartition("_")[2] for name in networks] == ["back"]


def test_compose_backs_up_stops_and_keeps_everything(
    whole: ComposeProject, visitor: Visitor, owner: Owner
) -> None:
    whole.compose("exec --no-TTY waypost waypost backup - >waypost.tar.gz")
    assert (whole.folder / "waypost.tar.gz").stat().st_size > 10_000
    before = owner.clicks()
    whole.compose("stop")
    assert {
        service: whole.inspect(service)["State"]["ExitCode"] for service in ("waypost", "postgres", "redis")
    } == {
        "waypost": 0,
        "postgres": 0,
        "redis": 0,
    }
    whole.compose("up --detach")
    wait_for(lambda: whole.is_healthy("waypost"), "health", START_SECONDS)
    wait_for(lambda: owner.clicks() == before, "the clicks of before")
    assert visitor.ask("GET", "/hot")[0] == 302
