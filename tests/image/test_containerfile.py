"""What the Containerfile and the compose files promise, read from their text."""

from __future__ import annotations

import json
import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from app.core.config import PREFIX, TABLE
from app.core.folders import ROOT
from app.core.version import VERSION
from tests.image.containerfile import Stage, is_ignored, read_containerfile

STAGES = {stage.name: stage for stage in read_containerfile()}
COMPOSE = {path.name: path for path in sorted((ROOT / "deploy").glob("compose*.yaml"))}


@pytest.fixture
def runtime() -> Stage:
    return STAGES["runtime"]


def services_of(name: str) -> dict[str, Any]:
    return dict(yaml.safe_load(COMPOSE[name].read_text())["services"])


def test_it_is_built_in_stages_and_the_default_is_the_small_one() -> None:
    assert [*STAGES] == ["build", "runtime", "postgresql", "waypost"]
    assert {name: stage.parent for name, stage in STAGES.items() if stage.parent in STAGES} == {
        "postgresql": "runtime",
        "waypost": "runtime",
    }
    assert STAGES["waypost"].instructions == []


@pytest.mark.parametrize("name", ["runtime", "postgresql"])
def test_it_does_not_run_as_root(name: str) -> None:
    user = STAGES[name].last("USER")
    assert user is not None
    assert re.fullmatch(r"[1-9]\d{3,}:[1-9]\d{3,}", user.text)  # numbers, so that Kubernetes can tell


def test_signals_reach_the_program(runtime: Stage) -> None:
    for name in ("ENTRYPOINT", "CMD"):
        found = runtime.last(name)
        assert found is not None
        assert found.is_exec, f"{name} would run in a shell, which keeps SIGTERM to itself"
    stop = runtime.last("STOPSIGNAL")
    assert stop is not None
    assert stop.text == "SIGTERM"


def test_its_health_is_checked_without_other_programs(runtime: Stage) -> None:
    check = runtime.last("HEALTHCHECK")
    assert check is not None
    assert json.loads(check.text.removeprefix("CMD "))[0] == "python"


def test_there_is_one_volume_which_holds_the_data(runtime: Stage) -> None:
    volumes = [each.text for each in runtime.instructions if each.name == "VOLUME"]
    environ = runtime.last("ENV")
    assert environ is not None
    assert volumes == ["/data"]
    assert f"{PREFIX}DATA_DIR=/data" in environ.words


def test_what_is_copied_is_there_and_all_else_stays_out() -> None:
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True)
    wanted = names_that_it_copies()
    inside = [path for path in listed.stdout.splitlines() if not is_ignored(path)]
    assert {path.split("/")[0] for path in inside} == wanted
    for secret in ("instance/main.db", ".env", ".git/config", "app/__pycache__/x.pyc", "tests/conftest.py"):
        assert is_ignored(secret), secret
    assert (ROOT / ".dockerignore").read_text() == (ROOT / ".containerignore").read_text()


def names_that_it_copies() -> set[str]:
    return {
        word
        for stage in STAGES.values()
        for each in stage.instructions
        if each.name == "COPY" and "from" not in each.flags
        for word in each.words[:-1]
    }


def test_a_release_has_all_that_an_image_is_built_of() -> None:
    """And what keeps an engine from sending data and settings along, which lie in the same folder."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    released = project["tool"]["hatch"]["build"]["targets"]["sdist"]["include"]
    needed = names_that_it_copies() | {"deploy", ".containerignore", ".dockerignore"}
    assert {f"/{name}" for name in needed} <= set(released)


@pytest.mark.parametrize("name", COMPOSE)
def test_a_compose_file_runs_the_image_of_this_version_without_rights(name: str) -> None:
    service = services_of(name)["waypost"]
    target = service["build"].get("target")
    assert service["image"] == f"waypost:{VERSION}" + (f"-{target}" if target else "")
    assert (
        (COMPOSE[name].parent / service["build"]["context"] / service["build"]["dockerfile"])
        .resolve()
        .exists()
    )
    assert target is None or target in STAGES
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert [each.split(":")[1] for each in service["volumes"]] == ["/data"]
    assert int(service["stop_grace_period"].removesuffix("s")) >= 40
    unknown = [key for key in service["environment"] if key.removeprefix(PREFIX) not in TABLE]
    assert unknown == []


@pytest.mark.parametrize("name", COMPOSE)
def test_what_a_compose_file_names_is_in_it(name: str) -> None:
    whole = yaml.safe_load(COMPOSE[name].read_text())
    for service in whole["services"].values():
        for volume in service.get("volumes", ()):
            source = volume.split(":")[0]
            assert source in whole["volumes"] or (COMPOSE[name].parent / source).is_file(), volume
        assert set(service.get("networks", ())) <= set(whole.get("networks", ()))
        assert set(service.get("depends_on", ())) <= set(whole["services"])


def test_no_disk_keeps_what_is_in_redis_and_only_the_proxy_is_reached() -> None:
    services = services_of("compose.full.yaml")
    assert {name for name, service in services.items() if "ports" in service} == {"caddy"}
    assert services["redis"]["command"][1:5] == ["--save", "", "--appendonly", "no"]
    assert "volumes" not in services["redis"]


def test_secrets_are_not_in_the_files() -> None:
    for path in COMPOSE.values():
        for found in re.findall(r"PASSWORD: (.*)", path.read_text()):
            assert found.startswith("${"), found


def test_commands_of_the_files_name_files_that_exist() -> None:
    for path in COMPOSE.values():
        for named in re.findall(r"deploy/[\w.]+", path.read_text()):
            assert named == "deploy/.env" or Path(ROOT / named).is_file(), named
