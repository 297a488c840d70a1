"""Boots systemd as process 1 of a scratch system, with a network and control groups of its own. Needs root."""

from __future__ import annotations

import ctypes
import os
import shlex
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.image.scratch import MOUNT, Layer
from tests.server import wait_for

PROGRAM = Path("/lib/systemd/systemd")
NAMESPACES = ("--mount", "--pid", "--uts", "--ipc", "--net", "--cgroup")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
CLONE_NEWNET = 0x40000000
# `RemoveIPC=` empties /dev/shm, where this layer itself may lie; a folder that a mount covers is no root for new user namespaces: the system's root becomes that of its mounts
BOOT = f"""
{MOUNT}
cd "$TREE"
mount -t proc proc proc
mount -t sysfs -o ro sysfs sys
mount -t cgroup2 cgroup2 sys/fs/cgroup
mount -t tmpfs -o mode=755 tmpfs run
mount -t tmpfs tmpfs tmp
mount -t tmpfs tmpfs dev/shm
ip link set lo up
hostname scratch
mkdir -p .before
pivot_root . .before
umount -l .before
exec env -i container=scratch PATH={PATH} {PROGRAM} --unit=basic.target --log-target=journal --show-status=no
"""


def find_cgroups() -> Path | None:
    """Where the control groups of the second version are mounted."""
    lines = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    return next((Path(line[1]) for line in lines if line[2] == "cgroup2"), None)


def why_not() -> str:
    """What this machine lacks, or nothing."""
    tools = ("nsenter", "unshare", "pivot_root", "ip", "systemctl")
    missing = [name for name in tools if shutil.which(name) is None]
    if missing or not PROGRAM.exists():
        return f"no systemd here to boot, or no {', '.join(missing)}"
    return "" if find_cgroups() else "the kernel has no control groups of the second version"


class BootedSystem:
    """A layer whose first process is systemd. Only what `basic.target` wants is started."""

    def __init__(self, layer: Layer) -> None:
        self.layer = layer
        mounted = find_cgroups()
        assert mounted is not None
        self.cgroup = mounted / f"scratch-{os.getpid()}"
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> BootedSystem:
        self.cgroup.mkdir()
        join = f"echo $$ >{shlex.quote(str(self.cgroup / 'cgroup.procs'))}"
        unshare = ["unshare", *NAMESPACES, "--fork", "--kill-child=KILL", "--propagation", "private"]
        _, environ = self.layer.script()
        with (self.layer.folder / "boot.log").open("wb") as log:
            self.process = subprocess.Popen(
                ["sh", "-euc", f"{join}; exec {shlex.join([*unshare, 'sh', '-euc', BOOT])}"],
                env=environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )
        wait_for(self.is_booted, "a booted system")
        return self

    def is_booted(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, (self.layer.folder / "boot.log").read_text(errors="replace")
        return self.run("systemctl", "is-active", "basic.target", check=False).strip() == "active"

    def first_process(self) -> int:
        """The process of systemd, as this machine numbers it."""
        assert self.process is not None
        children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children")
        return int(wait_for(lambda: children.read_text().split(), "the first process")[0])

    def run(self, *words: str, stdin: str = "", check: bool = True) -> str:
        """Runs a command inside as root, and returns what it says."""
        done = self.execute(*words, stdin=stdin)
        assert not check or done.returncode == 0, f"{words}\n{done.stdout}{done.stderr}\n{self.log()}"
        return done.stdout

    def execute(self, *words: str, stdin: str = "") -> subprocess.CompletedProcess[str]:
        enter = ["nsenter", f"--target={self.first_process()}", *NAMESPACES, "env", "-i", f"PATH={PATH}"]
        return subprocess.run(
            [*enter, *words], input=stdin, capture_output=True, text=True, check=False, timeout=300
        )

    def log(self) -> str:
        """The end of the journal."""
        return self.execute("journalctl", "--no-pager", "--lines=60").stdout

    def show(self, unit: str, name: str) -> str:
        """One property of a unit."""
        return self.run("systemctl", "show", "--value", f"--property={name}", unit).strip()

    @contextmanager
    def network(self) -> Iterator[None]:
        """This thread, and those that it starts, are in the system's network."""
        with Path("/proc/thread-self/ns/net").open() as own:
            enter_network(Path(f"/proc/{self.first_process()}/ns/net"))
            try:
                yield
            finally:
                set_network(own.fileno())

    def end(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait(60)
        for folder, _, _ in os.walk(self.cgroup, topdown=False):
            wait_for(lambda folder=folder: is_removed(Path(folder)), f"the end of {folder}")  # type: ignore[misc]


def enter_network(path: Path) -> None:
    with path.open() as file:
        set_network(file.fileno())


def set_network(descriptor: int) -> None:
    if ctypes.CDLL(None, use_errno=True).setns(descriptor, CLONE_NEWNET) != 0:
        raise OSError(ctypes.get_errno(), "setns")


def is_removed(cgroup: Path) -> bool:
    try:
        cgroup.rmdir()
    except FileNotFoundError:
        return True
    except OSError:  # a process of it is still ending
        return False
    return True
