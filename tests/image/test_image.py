"""Every step of the Containerfile is carried out, and what comes of it is run as an engine would run it.

No engine is needed for this. Where one is, with a base image, it builds and runs the image as well (`make image-test`).
"""

from __future__ import annotations

import http.client
import json
import os
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests.image.engine import EngineContainer, find_engine
from tests.image.scratch import Container, Layer, build, is_possible
from tests.server import BROWSER, free_port, wait_for

pytestmark = pytest.mark.full

EMAIL, PASSWORD = "one@example.com", "five small boats go upriver\n"
UID = 10001
CLIENTS = {"bookworm": "15", "trixie": "17"}  # which PostgreSQL's programs a Debian has


@pytest.fixture(scope="module")
def layers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Layer]:
    folder = tmp_path_factory.mktemp("image")
    if not is_possible(folder):
        pytest.skip("this user can't mount an overlay")
    release = Path("/etc/os-release").read_text()
    name = re.search(r"^VERSION_CODENAME=(\w+)", release, re.MULTILINE)
    if name is None or name[1] not in CLIENTS:
        pytest.skip("this machine is no Debian, which the base image is")
    return build(folder, POSTGRESQL=CLIENTS[name[1]])


@pytest.fixture
def container(layers: dict[str, Layer], tmp_path: Path) -> Iterator[Container]:
    data = tmp_path / "data"
    data.mkdir(mode=0o700)
    os.chown(data, UID, UID)  # as an engine gives a new volume the owner of its folder in the image
    found = Container(layers["waypost"], data)
    yield found
    if found.process and found.process.poll() is None:
        found.process.kill()


def is_healthy(container: Container) -> bool:
    assert container.process is not None
    assert container.process.poll() is None, container.written()
    check = container.layer.said["HEALTHCHECK"].text.removeprefix("CMD ")
    return container.execute(*json.loads(check)).returncode == 0


def test_a_click_is_counted_and_kept(container: Container) -> None:
    assert container.start().process is not None
    wait_for(lambda: is_healthy(container), "health")
    add = 'printf %s "$0" | waypost users create --email one@example.com --password-stdin'
    assert container.execute("sh", "-c", add, PASSWORD).returncode == 0
    key = container.execute("waypost", "keys", "create", "--email", EMAIL, "--name", "one").stdout.strip()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "User-Agent": BROWSER}
    line = http.client.HTTPConnection("127.0.0.1", container.port, timeout=30)
    made = ask(
        line,
        "POST",
        "/api/links",
        headers,
        json.dumps({"url": "one", "location_url": "https://example.com/"}),
    )
    line.request("GET", "/one", headers={"User-Agent": BROWSER})
    answer = line.getresponse()
    answer.read()
    assert (answer.status, answer.getheader("Location")) == (302, "https://example.com/")
    path = f"/api/links/{made['data']['id']}"
    wait_for(lambda: ask(line, "GET", path, headers)["data"]["clicks"] == 1, "the click")
    line.close()
    assert container.stop() == 0, container.written()

    container.start()
    wait_for(lambda: is_healthy(container), "health")
    assert ask(line, "GET", path, headers)["data"]["clicks"] == 1
    line.close()
    assert container.stop() == 0


def ask(
    line: http.client.HTTPConnection, method: str, path: str, headers: dict[str, str], body: str | None = None
):
    line.request(method, path, body, headers)
    answer = line.getresponse()
    content = answer.read()
    assert answer.status in {200, 201}, content
    return json.loads(content)


def test_it_has_no_rights_and_writes_nowhere_else(container: Container) -> None:
    container.start()
    wait_for(lambda: is_healthy(container), "health")
    status = Path(f"/proc/{container.first_process()}/status").read_text()
    found = dict(line.split(":\t") for line in status.splitlines() if ":\t" in line)
    assert found["Uid"].split() == [str(UID)] * 4
    assert found["NoNewPrivs"] == "1"
    assert {int(found[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")} == {0}
    assert found["NSpid"].split()[-1] == "1"
    for folder in ("/opt/waypost", "/etc", "/var/tmp"):
        assert "Read-only" in container.execute("sh", "-c", f"touch {folder}/x || true").stderr
    assert {path.stat().st_uid for path in container.data.rglob("*")} == {UID}
    assert "PROBLEM" not in container.execute("waypost", "doctor").stdout
    assert container.stop() == 0


def test_one_target_has_the_programs_of_postgresql(layers: dict[str, Layer]) -> None:
    assert "pg_dump (PostgreSQL)" in layers["postgresql"].run(["pg_dump", "--version"]).stdout
    assert layers["postgresql"].user == layers["waypost"].user == f"{UID}:{UID}"


@pytest.fixture(scope="module")
def image() -> str:
    """`make image` on the base image that BASE_IMAGE names: `make image-test` does that."""
    base = os.environ.get("BASE_IMAGE")
    if not base or find_engine() is None:
        pytest.skip(
            "no engine runs containers here, or BASE_IMAGE names no image that can be had: make image-test"
        )
    arguments = f"--build-arg BASE={base} {os.environ.get('IMAGE_ARGS', '')}"
    name = f"localhost/waypost:test-{os.getpid()}"
    command = ["make", "image", f"BUILDER={find_engine()}", f"IMAGE={name}", f"IMAGE_ARGS={arguments}"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return name


@pytest.fixture(scope="module")
def engine_container(image: str) -> Iterator[EngineContainer]:
    engine = find_engine()
    assert engine is not None
    found = EngineContainer(engine, image, f"waypost-test-{os.getpid()}", free_port())
    try:
        found.create()
        yield found
    finally:
        found.remove()


def test_an_engine_counts_a_click_and_keeps_it(engine_container: EngineContainer) -> None:
    """In three commands: make the image, run it, make an account. The rest is what its owner does then."""
    container = engine_container
    wait_for(container.is_healthy, "health")
    container.execute("waypost", "users", "create", "--email", EMAIL, "--password-stdin", stdin=PASSWORD)
    key = container.execute("waypost", "keys", "create", "--email", EMAIL, "--name", "one").strip()
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json", "User-Agent": BROWSER}
    line = http.client.HTTPConnection("127.0.0.1", container.port, timeout=30)
    link = {"url": "one", "location_url": "https://example.com/"}
    path = f"/api/links/{ask(line, 'POST', '/api/links', headers, json.dumps(link))['data']['id']}"
    line.request("GET", "/one", headers={"User-Agent": BROWSER})
    answer = line.getresponse()
    answer.read()
    assert (answer.status, answer.getheader("Location")) == (302, "https://example.com/")
    wait_for(lambda: ask(line, "GET", path, headers)["data"]["clicks"] == 1, "the click")
    line.close()

    container.run("stop", container.name)
    assert container.inspect(".State.ExitCode") == "0", container.run("logs", container.name)
    container.run("start", container.name)
    wait_for(container.is_healthy, "health")
    assert ask(line, "GET", path, headers)["data"]["clicks"] == 1
    line.close()


def test_an_engine_gives_it_no_rights(engine_container: EngineContainer) -> None:
    container = engine_container
    wait_for(container.is_healthy, "health")
    status = container.execute("cat", "/proc/1/status")
    found = dict(line.split(":\t") for line in status.splitlines() if ":\t" in line)
    assert found["Uid"].split() == [str(UID)] * 4
    assert found["NoNewPrivs"] == "1"
    assert {int(found[name], 16) for name in ("CapEff", "CapPrm", "CapBnd")} == {0}
    for folder in ("/opt/waypost", "/etc"):
        assert "Read-only" in container.refuses("sh", "-c", f"touch {folder}/x")
    assert "PROBLEM" not in container.execute("waypost", "doctor")
    print(f"{container.size() / 1e6:.0f} MB with the base image")
