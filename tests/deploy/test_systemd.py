"""The shipped systemd units: correct, hardened, and no harder than Waypost can stand."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests.server import Server
from tests.test_kills import make_hot_link

UNITS = ROOT / "deploy" / "systemd"
needs_systemd = pytest.mark.skipif(
    shutil.which("systemd-analyze") is None, reason="no systemd-analyze here to read the units"
)
MOST_EXPOSURE = 20  # of a hundred


@pytest.fixture
def units(tmp_path: Path) -> Path:
    """The units as they are on a machine where this tree lies in /srv/waypost."""
    for path in UNITS.iterdir():
        text = path.read_text().replace("/srv/waypost", str(ROOT))
        (tmp_path / path.name).write_text(re.sub(r"^(User|Group)=.*", r"\1=root", text, flags=re.MULTILINE))
    return tmp_path


def analyze(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["systemd-analyze", "--no-pager", *arguments],
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": os.environ["PATH"]},
    )


@needs_systemd
def test_the_units_are_correct(units: Path) -> None:
    done = analyze("verify", *(str(path) for path in sorted(units.iterdir())))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


@needs_systemd
@pytest.mark.parametrize("name", ["waypost.service", "waypost-backup.service"])
def test_the_services_are_hardened(name: str) -> None:
    done = analyze("security", "--offline=true", f"--threshold={MOST_EXPOSURE}", str(UNITS / name))
    assert done.returncode == 0, done.stdout + done.stderr


def hardening(name: str) -> list[str]:
    text = (UNITS / name).read_text()
    lines = text[text.index("AmbientCapabilities=") :].splitlines()
    return [line for line in lines if "=" in line and not line.startswith("WantedBy")]


def test_both_services_are_hardened_alike() -> None:
    assert hardening("waypost.service") == hardening("waypost-backup.service")


# --- what of the hardening can be had without a service manager

HEADERS = [Path("/usr/include") / name for name in ("asm/unistd_64.h", "x86_64-linux-gnu/asm/unistd_64.h")]


def allowed_calls() -> set[int]:
    """The numbers of the system calls that `SystemCallFilter=` of the units leaves."""
    header = next(path for path in HEADERS if path.exists()).read_text()
    numbers = dict(re.findall(r"#define __NR_(\w+)\s+(\d+)", header))
    given, taken = (names_of(group) for group in ("@system-service", "@privileged"))
    return {int(numbers[name]) for name in given - taken if name in numbers}


def names_of(group: str) -> set[str]:
    found: set[str] = set()
    for line in analyze("syscall-filter", group).stdout.splitlines()[1:]:
        name = line.partition("#")[0].strip()
        if name.startswith("@"):
            found |= names_of(name)
        elif name:
            found.add(name)
    return found


# a program that keeps to these system calls, and to memory that is never writable and executable, and then becomes
# another one: what systemd does for SystemCallFilter=, SystemCallErrorNumber=EPERM and MemoryDenyWriteExecute=
AS_HARDENED = """
import ctypes, os, struct, sys
allowed, command = sorted(map(int, sys.argv[1].split(","))), sys.argv[2:]
code = [(0x20, 0, 0, 4), (0x15, 1, 0, 0xC000003E), (0x06, 0, 0, 0x00050001), (0x20, 0, 0, 0)]
for number in allowed:
    code += [(0x15, 0, 1, number), (0x06, 0, 0, 0x7FFF0000)]
code.append((0x06, 0, 0, 0x00050001))
lines = ctypes.create_string_buffer(b"".join(struct.pack("HBBI", *line) for line in code))
program = struct.pack("HP", len(code), ctypes.addressof(lines))
prctl = ctypes.CDLL(None, use_errno=True).prctl
assert prctl(38, 1, 0, 0, 0) == 0
assert prctl(65, 1, 0, 0, 0) == 0, "the kernel is older than 6.3"
assert prctl(22, 2, program, 0, 0) == 0, os.strerror(ctypes.get_errno())
os.execvp(command[0], command)
"""
NO_RIGHTS = ("setpriv", "--bounding-set=-all", "--inh-caps=-all", "--no-new-privs")


@pytest.mark.full
@needs_systemd
@pytest.mark.skipif(
    sys.platform != "linux" or not any(path.exists() for path in HEADERS) or os.uname().machine != "x86_64",
    reason="no list of Linux's system calls here",
)
def test_serve_works_under_the_hardening(tmp_path: Path) -> None:
    """System calls, memory, capabilities and new privileges are restricted as the units say."""
    server = Server(tmp_path / "data")
    calls = ",".join(map(str, sorted(allowed_calls())))
    server.prefix = (*NO_RIGHTS, sys.executable, "-c", AS_HARDENED, calls)
    try:
        server.start()
        make_hot_link(server)
        assert server.status("/hot") == 302
        server.stop()
        written = server.written()
        assert "Traceback" not in written
        assert "not permitted" not in written
    finally:
        server.kill()
    command = [*server.prefix, sys.executable, "-m", "app.cli", "backup", str(tmp_path / "backup.tar.gz")]
    done = subprocess.run(command, cwd=ROOT, env=server.environ, capture_output=True, text=True, check=False)
    assert (done.returncode, "not permitted" in done.stderr) == (0, False), done.stderr
