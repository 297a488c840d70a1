"""Runs the shipped compose files by `docker compose`, in a project of its own, on ports of this machine.

Only ports, the names of images and Caddy's authority are replaced.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import yaml

from app.core.folders import ROOT
from tests.proxies import FIRST_WITH_REQUEST_BUFFERS
from tests.server import free_port

DEPLOY = ROOT / "deploy"
STAND_INS = Path(__file__).with_name("stand_ins")
PULL_SECONDS = 300


def has_compose() -> bool:
    """Whether `docker compose` is here, and a daemon that it can talk to."""
    if shutil.which("docker") is None:
        return False
    tried = [["docker", "compose", "version"], ["docker", "version", "--format", "{{.Server.Version}}"]]
    return all(subprocess.run(words, capture_output=True, check=False).returncode == 0 for words in tried)


def run(*words: str) -> str:
    done = subprocess.run(words, capture_output=True, check=False, timeout=900)
    assert done.returncode == 0, f"{words}\n{done.stdout.decode()}{done.stderr.decode()}"
    return done.stdout.decode()


def has_image(name: str) -> bool:
    return (
        subprocess.run(["docker", "image", "inspect", name], capture_output=True, check=False).returncode == 0
    )


def get_images(base: str) -> list[str]:
    """Fetches the images that the files name besides Waypost's. Returns those that had to be stood in for."""
    services = yaml.safe_load((DEPLOY / "compose.full.yaml").read_text())["services"]
    stood_in = []
    for name, service in services.items():
        if "build" in service or has_image(service["image"]) or is_pulled(service["image"]):
            continue
        build = (
            "build",
            "--file",
            str(STAND_INS / "Containerfile"),
            "--target",
            name,
            "--tag",
            service["image"],
        )
        options = ("--build-arg", f"BASE={base}", *os.environ.get("IMAGE_ARGS", "").split())
        run("docker", *build, *options, str(STAND_INS))
        stood_in.append(service["image"])
    return stood_in


def is_pulled(image: str) -> bool:
    try:
        done = subprocess.run(
            ["docker", "pull", image], capture_output=True, check=False, timeout=PULL_SECONDS
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


class ComposeProject:
    """A folder as the root of a release is, with a compose file whose commands are run there as a page has them."""

    def __init__(self, folder: Path, file: str, image: str) -> None:
        self.folder, self.file = folder, file
        self.name = f"waypost-test-{os.getpid()}-{folder.name}".lower().replace("_", "-")
        self.ports = {inside: free_port() for inside in (80, 443, 8000)}
        (folder / "deploy").mkdir(parents=True)
        text = (DEPLOY / file).read_text()
        text = re.sub(r"image: waypost:\S+", f"image: {image}", text)
        text = text.replace("context: ..", f"context: {ROOT}")
        text = re.sub(
            r'"(80|443)(:\d+\S*)"', lambda found: f'"127.0.0.1:{self.ports[int(found[1])]}{found[2]}"', text
        )
        text = text.replace("${WAYPOST_PORT:-8000}:", f"{self.ports[8000]}:")
        (folder / "deploy" / file).write_text(text)
        (folder / "deploy" / "compose.Caddyfile").write_text(self.caddyfile())

    def caddyfile(self) -> str:
        """The file with an authority of Caddy's own, and for older versions of Caddy."""
        site = (DEPLOY / "compose.Caddyfile").read_text()
        site = re.sub(r"^\{\n", "{\n\tlocal_certs\n\tskip_install_trust\n", site, count=1, flags=re.MULTILINE)
        said = subprocess.run(
            ["docker", "run", "--rm", "caddy:2-alpine", "caddy", "version"],
            capture_output=True,
            text=True,
            check=False,
        ).stdout
        found = re.search(r"(\d+)\.(\d+)\.(\d+)", said)
        if found and tuple(map(int, found.groups())) < FIRST_WITH_REQUEST_BUFFERS:
            site = re.sub(
                r"^(\s*)request_buffers ", r"\1buffer_requests\n\1max_buffer_size ", site, flags=re.MULTILINE
            )
        return site

    def shell(self, command: str) -> str:
        """Runs a command of a page in the folder, and returns what it says."""
        environ = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("WAYPOST_", "POSTGRES_"))
        }
        done = subprocess.run(
            ["sh", "-euc", command.replace(":8000/", f":{self.ports[8000]}/")],
            cwd=self.folder,
            env=environ | {"COMPOSE_PROJECT_NAME": self.name, "no_proxy": "*"},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
            timeout=600,
        )
        assert done.returncode == 0, f"{command}\n{done.stdout}{done.stderr}\n{self.logs()}"
        return done.stdout

    def logs(self) -> str:
        words = ["docker", "compose", "--project-name", self.name, "logs", "--tail", "60"]
        done = subprocess.run(words, cwd=self.folder, capture_output=True, text=True, check=False)
        return done.stdout + done.stderr

    def compose(self, words: str) -> str:
        return self.shell(f"docker compose --file deploy/{self.file} {words}")

    def inspect(self, service: str) -> dict[str, Any]:
        """What the engine knows of the container of a service."""
        number = self.compose(f"ps --all --quiet {service}").strip()
        return dict(json.loads(run("docker", "inspect", number))[0])

    def is_healthy(self, service: str) -> bool:
        return bool(self.inspect(service)["State"]["Health"]["Status"] == "healthy")

    def remove(self) -> None:
        words = ["docker", "compose", "--project-name", self.name, "down", "--volumes", "--timeout", "60"]
        subprocess.run(words, cwd=self.folder, capture_output=True, check=False)
