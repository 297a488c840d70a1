"""Carries out a Containerfile without a tool that builds images, and runs what comes of it as an engine would.

This machine's own files are the base image, below an overlay that takes all writes. Needs root, for mounts and users.
"""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

from app.core.folders import ROOT
from tests.image.containerfile import Instruction, is_ignored, read_containerfile
from tests.server import free_port

PASSED_ON = (
    "PIP_",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
)
MOUNT = 'mount -t overlay overlay -o "lowerdir=/,upperdir=$UPPER,workdir=$WORK" "$TREE" && mount --rbind /dev "$TREE/dev"'


def is_possible(folder: Path) -> bool:
    """Whether this user may mount an overlay here."""
    if os.geteuid() != 0 or not all(map(shutil.which, ("unshare", "setpriv", "chroot"))):
        return False
    return Layer(folder / "probe").run(["true"]).returncode == 0


class Layer:
    """Files above this machine's own."""

    def __init__(self, folder: Path, below: Layer | None = None) -> None:
        self.folder, self.upper = folder, folder / "upper"
        for name in ("work", "tree"):
            (folder / name).mkdir(parents=True)
        if below is None:
            self.upper.mkdir()
            prepare_base(self.upper)
        else:
            subprocess.run(["cp", "--archive", str(below.upper), str(self.upper)], check=True)
        self.folder_inside, self.user = (below.folder_inside, below.user) if below else ("/", "0:0")
        self.environ: dict[str, str] = (
            dict(below.environ) if below else {"PATH": "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin"}
        )
        self.arguments: dict[str, str] = {}  # for steps of the build alone
        self.said: dict[str, Instruction] = dict(below.said) if below else {}

    def script(self, *more: str) -> tuple[str, dict[str, str]]:
        """A shell's beginning in a mount namespace of its own, and the environment it needs."""
        environ = {
            "UPPER": str(self.upper),
            "WORK": str(self.folder / "work"),
            "TREE": str(self.folder / "tree"),
        }
        return " && ".join([MOUNT, *more]), environ | {"PATH": os.environ["PATH"]}

    def run(self, command: list[str]) -> subprocess.CompletedProcess[str]:
        """Run a command of the build as root, inside."""
        passed = {name: value for name, value in os.environ.items() if name.startswith(PASSED_ON)}
        inside = [
            f"{name}={value}"
            for name, value in {**passed, **self.arguments, **self.environ, "HOME": "/root"}.items()
        ]
        words = [
            "env",
            "-i",
            *inside,
            "sh",
            "-c",
            f'cd {shlex.quote(self.folder_inside)} && exec "$@"',
            "sh",
            *command,
        ]
        text, environ = self.script(
            'mount -t proc proc "$TREE/proc"', f'exec chroot "$TREE" {shlex.join(words)}'
        )
        line = ["unshare", "--mount", "--pid", "--fork", "--propagation", "private", "sh", "-c", text]
        return subprocess.run(line, env=environ, capture_output=True, text=True, check=False)


def prepare_base(upper: Path) -> None:
    """What a base image has and this machine may not: a `python3` that every user can run."""
    python = Path(os.path.realpath(sys.executable))
    local = upper / "usr" / "local" / "bin"
    local.mkdir(parents=True)
    for name in ("python3", "python"):
        (local / name).write_text(
            f'#!/bin/sh\nexec {shlex.quote(str(python))} "$@"\n'
        )  # a link would hide its libraries
        (local / name).chmod(0o755)
    for parent in [each for each in python.parents if each != Path("/")]:  # a home folder, for example
        (upper / parent.relative_to("/")).mkdir(parents=True, exist_ok=True)


def build(folder: Path, **arguments: str) -> dict[str, Layer]:
    """Every stage of the Containerfile, by its name."""
    before = os.umask(0o022)  # of engines, whatever this process has
    try:
        return build_stages(folder, arguments)
    finally:
        os.umask(before)


def build_stages(folder: Path, arguments: dict[str, str]) -> dict[str, Layer]:
    layers: dict[str, Layer] = {}
    for stage in read_containerfile():
        layer = layers[stage.name] = Layer(folder / stage.name, layers.get(stage.parent))
        for instruction in stage.instructions:
            carry_out(layer, instruction, layers, arguments)
    return layers


def carry_out(
    layer: Layer, instruction: Instruction, layers: dict[str, Layer], known: dict[str, str]
) -> None:
    layer.said[instruction.name] = instruction
    match instruction.name:
        case "ARG":
            name, _, default = instruction.text.partition("=")
            layer.arguments[name] = known.get(name, default)
        case "ENV":
            layer.environ |= dict(word.split("=", 1) for word in instruction.words)
        case "WORKDIR":
            layer.folder_inside = instruction.text
            (layer.upper / instruction.text.lstrip("/")).mkdir(parents=True, exist_ok=True)
        case "USER":
            layer.user = instruction.text
        case "COPY":
            copy(layer, instruction, layers)
        case "RUN":
            done = layer.run(["sh", "-c", instruction.text])
            assert done.returncode == 0, f"{instruction.text}\n{done.stdout}{done.stderr}"


def copy(layer: Layer, instruction: Instruction, layers: dict[str, Layer]) -> None:
    *sources, target = instruction.words
    start = layers[instruction.flags["from"]].upper if "from" in instruction.flags else ROOT
    place = layer.upper / str(Path(layer.folder_inside) / target).lstrip("/")
    for source in sources:
        path = start / source.lstrip("/")
        assert start != ROOT or not is_ignored(source), f"{source} is not part of the build"
        if path.is_dir():
            shutil.copytree(
                path, place, symlinks=True, ignore=leave_out if start == ROOT else None, dirs_exist_ok=True
            )
        else:
            shutil.copy(path, place / path.name if target.endswith("/") else place)


def leave_out(folder: str, names: list[str]) -> list[str]:
    inside = Path(folder).relative_to(ROOT)
    return [name for name in names if is_ignored((inside / name).as_posix())]


class Container:
    """A layer that runs as an engine runs an image: read-only, as its user, without rights, process 1 of its own."""

    def __init__(self, layer: Layer, data: Path) -> None:
        self.layer, self.data, self.port = layer, data, free_port()
        self.output = data.with_name("output")
        self.process: subprocess.Popen[bytes] | None = None

    def command(self, words: list[str]) -> tuple[list[str], dict[str, str]]:
        uid, _, gid = self.layer.user.partition(":")
        own = [
            "setpriv",
            "--reuid",
            uid,
            "--regid",
            gid,
            "--clear-groups",
            "--no-new-privs",
            "--bounding-set=-all",
            "--inh-caps=-all",
        ]
        environ = {**self.layer.environ, "WAYPOST_PORT": str(self.port), "HOME": "/tmp"}
        inside = ["env", "-i", *(f"{name}={value}" for name, value in environ.items())]
        start = ["sh", "-c", 'cd /data && exec "$@"', "sh", *words]
        text, variables = self.layer.script(
            f'mount --bind {shlex.quote(str(self.data))} "$TREE/data"',
            'mount -t tmpfs tmpfs "$TREE/tmp"',
            'mount -t proc proc "$TREE/proc"',
            'mount -o remount,ro "$TREE"',
            f'exec chroot "$TREE" {shlex.join([*own, *inside, *start])}',
        )
        line = [
            "unshare",
            "--mount",
            "--pid",
            "--fork",
            "--kill-child=KILL",
            "--propagation",
            "private",
            "sh",
            "-c",
            text,
        ]
        return line, variables

    def start(self) -> Container:
        words = [*self.layer.said["ENTRYPOINT"].words, *self.layer.said["CMD"].words]
        line, environ = self.command(words)
        with self.output.open("wb") as log:
            self.process = subprocess.Popen(
                line, env=environ, stdout=log, stderr=log, stdin=subprocess.DEVNULL
            )
        return self

    def execute(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a command in another one on the same data, as `docker exec` does."""
        line, environ = self.command(list(words))
        return subprocess.run(line, env=environ, capture_output=True, text=True, check=False)

    def written(self) -> str:
        return self.output.read_text(errors="replace")

    def first_process(self) -> int:
        """The process that is number 1 inside."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
        return int(children[0])

    def stop(self) -> int:
        """SIGTERM to process 1, as an engine sends it. Returns the exit code."""
        assert self.process is not None
        with suppress(ProcessLookupError):
            os.kill(self.first_process(), signal.SIGTERM)
        return self.process.wait(60)
