"""The package: a wheel that is installed into an environment of its own serves from any folder."""

from __future__ import annotations

import http.client
import json
import os
import shutil
import subprocess
import sys
import venv
import zipfile
from pathlib import Path
from sysconfig import get_path

import pytest

from app.core.folders import ROOT
from app.core.version import VERSION
from tests.docs.pages import block_after
from tests.first_click import count_first_click
from tests.image.scratch import PASSED_ON
from tests.server import Server, wait_for

pytestmark = pytest.mark.full

MINORS = (11, 12, 13, 14)
EMAIL, PASSWORD = "one@example.com", "five small boats go upriver\n"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(place), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return next(place.glob("*.whl"))


def find_pythons() -> dict[str, str]:
    """The interpreters of the supported versions that this machine has: the tests' own, and others to install into."""
    found = {}
    for minor in MINORS:
        names = [f"python3.{minor}", *map(str, Path.home().glob(f".pyenv/versions/3.{minor}.*/bin/python"))]
        working = [name for name in names if shutil.which(name) and tells_version(name) == f"3.{minor}"]
        found |= {f"3.{minor}": name for name in working[:1]}
    return found | {"{}.{}".format(*sys.version_info): sys.executable}


def tells_version(python: str) -> str:
    command = [python, "-c", "import ensurepip, sys; print('{}.{}'.format(*sys.version_info))"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    return done.stdout.strip()


PYTHONS = find_pythons()


@pytest.fixture(scope="module", params=PYTHONS.values(), ids=PYTHONS)
def program(request: pytest.FixtureRequest, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The command `waypost` of an environment that has the wheel and its libraries; of the tests' own Python they are those
    of the tests, for others the pinned ones are installed."""
    place = tmp_path_factory.mktemp("environment")
    if request.param == sys.executable:
        venv.create(place, symlinks=True)
        here = next(place.glob("lib/python*/site-packages"))
        (here / "libraries.pth").write_text(get_path("purelib"))
    else:
        run_quietly(request.param, "-m", "venv", "--without-pip", str(place))
        install(place, "--require-hashes", "--requirement", str(ROOT / "requirements.txt"))
    install(place, "--no-deps", "--no-index", str(wheel))
    return place / "bin" / "waypost"


def install(place: Path, *arguments: str) -> None:
    """Install into an environment with this one's pip."""
    command = (
        "-m",
        "pip",
        "--python",
        str(place / "bin" / "python"),
        "install",
        "--quiet",
        "--disable-pip-version-check",
    )
    run_quietly(sys.executable, *command, *arguments)


def run_quietly(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """An empty home, which is also the folder that commands are run from."""
    place = tmp_path / "home"
    place.mkdir()
    return place


def run(program: Path, home: Path, *arguments: str, stdin: str = "") -> str:
    environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"}
    command = [str(program), *arguments]
    done = subprocess.run(
        command, cwd=home, env=environ, input=stdin, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_it_holds_the_program_and_all_its_files(wheel: Path) -> None:
    listed = subprocess.run(["git", "ls-files", "app"], cwd=ROOT, capture_output=True, text=True, check=True)
    inside = set(zipfile.ZipFile(wheel).namelist())
    assert set(listed.stdout.splitlines()) - inside == set()
    assert {name.split("/")[0] for name in inside} == {"app", f"waypost-{VERSION}.dist-info"}


def test_it_serves_from_any_folder_and_keeps_its_data_in_the_home(program: Path, home: Path) -> None:
    data_dir = home / ".local" / "share" / "waypost"
    server = Server(data_dir)
    server.program, server.folder, server.output = (str(program),), home, home / "log"
    server.environ = {"HOME": str(home), "PATH": "/usr/bin:/bin", "WAYPOST_PORT": str(server.port)}
    server.start()
    try:
        run(program, home, "users", "create", "--email", EMAIL, "--password-stdin", stdin=PASSWORD)
        key = run(program, home, "keys", "create", "--email", EMAIL, "--name", "one").strip()
        here = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
        headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
        here.request(
            "POST", "/api/links", json.dumps({"url": "one", "location_url": "https://example.com"}), headers
        )
        made = json.loads(here.getresponse().read())
        link_id = made["data"]["id"]
        here.request("GET", "/one", headers={"User-Agent": "Mozilla/5.0"})
        answer = here.getresponse()
        answer.read()
        assert (answer.status, answer.getheader("Location")) == (302, "https://example.com")

        def clicks() -> int:
            here.request("GET", f"/api/links/{link_id}", headers=headers)
            return int(json.loads(here.getresponse().read())["data"]["clicks"])

        wait_for(lambda: clicks() == 1, "the click")
        here.close()
    finally:
        server.stop()
    assert {path.name for path in home.iterdir()} == {".local", "log"}
    assert {"main.db", "clicks.db", "journal"} <= {path.name for path in data_dir.iterdir()}


def test_three_commands_install_it(tmp_path: Path, home: Path) -> None:
    """Those of the page Install, as they stand, on what `make release` makes; then the first click counts."""
    if not (ROOT / ".venv/bin/python").exists():
        pytest.skip("make release needs the environment that make install builds")
    tree = copy_tree(tmp_path / "tree")
    # what it would install first is there: this environment is the tests' own
    run_in(tree, home, "make --silent --assume-old=.venv/installed-dev release")
    *commands, last = block_after("install.md", "three commands: package").text.splitlines()
    assert len(commands) == 2
    assert last == "~/waypost/bin/waypost serve"
    for command in commands:
        run_in(tree, home, command.replace("python3", sys.executable))
    server = make_server_of(home, str(home / "waypost" / "bin" / "waypost")).start()
    try:
        count_first_click(server.url, server.setup_address())
    finally:
        server.stop()


def test_two_commands_try_it(tmp_path: Path, home: Path) -> None:
    """Those of the page Install; the first builds `.venv`, which is here already."""
    commands = [
        line.partition("#")[0].split() for line in block_after("install.md", "two commands").text.splitlines()
    ]
    assert commands == [["make", "install"], ["make", "run"]]
    tree = copy_tree(tmp_path / "tree")
    run_in(tree, home, "make --silent --assume-old=.venv/made --assume-old=.venv/installed install")
    server = make_server_of(
        home, "sh", "-c", "exec make --silent --assume-old=.venv/made --assume-old=.venv/installed run"
    )
    server.folder = tree
    server.start()
    try:
        count_first_click(server.url, server.setup_address())
    finally:
        server.stop()


def copy_tree(tree: Path) -> Path:
    """A folder with all that is committed, and with the tests' environment as its `.venv`."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, check=True).stdout
    for name in filter(None, listed.decode().split("\0")):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    (tree / ".venv").symlink_to((ROOT / ".venv").resolve())
    return tree


def run_in(folder: Path, home: Path, command: str) -> None:
    environ = {"PATH": os.environ["PATH"], **passed_on(), "HOME": str(home)}
    done = subprocess.run(
        ["sh", "-eu", "-c", command], cwd=folder, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}"


def passed_on() -> dict[str, str]:
    """Where this machine gets packages from."""
    return {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}


def make_server_of(home: Path, *program: str) -> Server:
    server = Server(home / "data")
    server.program, server.folder, server.output = program, home, home / "log"
    server.environ = {"HOME": str(home), "PATH": "/usr/bin:/bin"} | {
        f"WAYPOST_{name}": value
        for name, value in {"PORT": str(server.port), "DATA_DIR": str(home / "data")}.items()
    }
    return server
