"""The units under a real systemd: started, restarted under load, killed, backed up and stopped; and what they may not do.

`deploy/install-service` sets them up in a scratch system (tests/deploy/booted_system.py) as the page Install says.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import requests

from app.core.folders import ROOT
from tests.cli.test_systemd_sockets import Crowd
from tests.deploy.booted_system import BootedSystem, why_not
from tests.deploy.test_install_service import commands
from tests.first_click import EMAIL, count_first_click
from tests.image.scratch import Layer, is_possible
from tests.server import BROWSER, wait_for

pytestmark = pytest.mark.full

PORT = 8000  # of waypost.socket
URL = f"http://127.0.0.1:{PORT}"
WAYPOST = "/srv/waypost/waypost"
UNIT = "waypost.service"


@pytest.fixture(scope="module")
def release(tmp_path_factory: pytest.TempPathFactory) -> Layer:
    """A scratch system with the release unpacked, and its libraries, for which a network is needed."""
    folder = tmp_path_factory.mktemp("booted")
    if not is_possible(folder):
        pytest.skip("this user can't mount an overlay")
    if missing := why_not():
        pytest.skip(missing)
    layer = Layer(folder / "system")
    for name in (
        "python",
        "python3",
    ):  # the system's own: services can't read a home folder, where another may lie
        (layer.upper / "usr/local/bin" / name).unlink()
    dist = layer.upper / "var/tmp/release/dist"
    command = [sys.executable, "-m", "build", "--sdist", "--no-isolation", "--outdir", str(dist), str(ROOT)]
    subprocess.run(command, capture_output=True, check=True)
    unpack = commands()[0]
    for line in (f"cd /var/tmp/release && {unpack}", "make -C /srv/waypost install PYTHON=/usr/bin/python3"):
        done = layer.run(["sh", "-euc", f"umask 022; {line}"])
        assert done.returncode == 0, f"{line}\n{done.stdout}{done.stderr}"
    return layer


@pytest.fixture(scope="module")
def system(release: Layer) -> Iterator[BootedSystem]:
    """Booted, with the service installed by the command of the page, on this machine's port alone."""
    booted = BootedSystem(release)
    try:
        booted.start()
        install = commands()[1].partition(" ")[0]
        booted.run(install)
        with booted.network():
            yield booted
    finally:
        booted.end()


class Owner:
    """The first account, with a key and the link `hot`."""

    def __init__(self, system: BootedSystem) -> None:
        (address,) = wait_for(
            lambda: set(re.findall(r"http://\S*/setup\S*", system.run("journalctl", "--unit", "waypost"))),
            "the one-time address",
        )
        count_first_click(URL, address)
        self.key = system.run(WAYPOST, "keys", "create", "--email", EMAIL, "--name", "systemd").strip()
        made = self.ask("POST", "/api/links", {"url": "hot", "location_url": "https://example.com/"})
        self.link = made["data"]["id"]

    def ask(self, method: str, path: str, body: dict[str, str] | None = None) -> dict[str, dict[str, int]]:
        with requests.Session() as api:
            api.trust_env = False
            answer = api.request(
                method, URL + path, json=body, headers={"Authorization": f"Bearer {self.key}"}, timeout=60
            )
        answer.raise_for_status()
        return dict(answer.json())

    def clicks(self) -> int:
        return self.ask("GET", f"/api/links/{self.link}")["data"]["clicks"]


@pytest.fixture(scope="module")
def owner(system: BootedSystem) -> Owner:
    return Owner(system)


def visit() -> int:
    headers = {"User-Agent": BROWSER}
    with requests.Session() as visitor:
        visitor.trust_env = False
        return visitor.get(f"{URL}/hot", headers=headers, allow_redirects=False, timeout=60).status_code


def main_pid(system: BootedSystem) -> int:
    """Of the service, as this machine numbers it."""
    inside = system.show(UNIT, "MainPID")
    for process in Path("/proc").glob("[0-9]*/status"):
        try:
            found = re.search(r"^NSpid:\s+(\d+)\s+(\d+)$", process.read_text(), re.MULTILINE)
        except (FileNotFoundError, ProcessLookupError):
            continue
        if found and found[2] == inside and is_inside(system, int(found[1])):
            return int(found[1])
    raise AssertionError(f"no process is {inside} inside")


def is_inside(system: BootedSystem, pid: int) -> bool:
    own, theirs = (Path(f"/proc/{each}/ns/pid") for each in (system.first_process(), pid))
    return own.readlink() == theirs.readlink()


def test_it_is_started_and_counts_the_first_click(system: BootedSystem, owner: Owner) -> None:
    for unit in ("waypost.socket", UNIT, "waypost-backup.timer"):
        assert system.run("systemctl", "is-active", unit).strip() == "active"
        assert system.run("systemctl", "is-enabled", unit).strip() == "enabled"
    assert "world-inaccessible" not in system.run("journalctl", "--no-pager")
    assert owner.clicks() == 0
    said = system.run(WAYPOST, "doctor")
    assert "PROBLEM" not in said, said


class Counted:
    """Visitors who come all the time of a block: none is refused, and each answer is one click."""

    def __init__(self, owner: Owner) -> None:
        self.owner = owner

    def __enter__(self) -> Crowd:
        self.before = self.owner.clicks()
        self.crowd = Crowd(PORT)
        self.crowd.go_on(200)
        return self.crowd

    def __exit__(self, *_: object) -> None:
        self.crowd.leave()
        refused, unanswered = (
            sum(getattr(visitor, name) for visitor in self.crowd.visitors)
            for name in ("refused", "unanswered")
        )
        assert (refused, unanswered) == (0, 0)
        wanted = self.before + self.crowd.answered
        wait_for(lambda: self.owner.clicks() == wanted, f"{wanted} clicks")


def test_nobody_is_refused_during_a_restart(system: BootedSystem, owner: Owner) -> None:
    with Counted(owner) as crowd:
        system.run("systemctl", "restart", UNIT)
        crowd.go_on(200)
    assert system.run("systemctl", "is-active", UNIT).strip() == "active"


def test_a_visit_starts_it(system: BootedSystem, owner: Owner) -> None:
    """The socket is there while the service is stopped: who comes waits for its start."""
    before = owner.clicks()
    system.run("systemctl", "stop", UNIT)
    assert system.show(UNIT, "Result") == "success"
    assert system.show(UNIT, "ActiveState") == "inactive"
    assert visit() == 302
    wait_for(lambda: owner.clicks() == before + 1, "the click")


def test_a_crash_is_followed_by_a_start(system: BootedSystem, owner: Owner) -> None:
    before, restarts = owner.clicks(), int(system.show(UNIT, "NRestarts"))
    os.kill(main_pid(system), signal.SIGKILL)
    try:
        answer = visit()
    except requests.ConnectionError:  # one of the processes that end had taken the connection
        answer = visit()
    assert answer == 302
    wait_for(lambda: int(system.show(UNIT, "NRestarts")) == restarts + 1, "the restart")
    wait_for(lambda: owner.clicks() > before, "the click")


def test_the_nightly_backup_is_made_and_due(system: BootedSystem, owner: Owner) -> None:
    system.run("systemctl", "start", "waypost-backup.service")
    assert system.show("waypost-backup.service", "Result") == "success"
    listed = system.run("ls", "-l", "/var/lib/waypost/backups").splitlines()
    assert [line.split()[0] for line in listed if line.endswith(".tar.gz")] == ["-rw-------"]
    assert [line.split()[2] for line in listed if line.endswith(".tar.gz")] == ["waypost"]
    assert system.show("waypost-backup.timer", "NextElapseUSecRealtime") not in {"", "n/a", "0"}


# what a program may do under the options of the unit: each line prints a name and whether it could
PROBE = r"""
import ctypes, json, mmap, os, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
def call(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), "refused")
def write(path):
    with open(path, "w"):
        pass
    os.remove(path)
tries = {
    "write its data": lambda: write("/var/lib/waypost/probe"),
    "write its temporary files": lambda: write("/tmp/probe"),
    "connect": lambda: socket.socket(socket.AF_INET).close(),
    "write the program": lambda: write("/srv/waypost/probe"),
    "write /etc": lambda: write("/etc/probe"),
    "write /usr": lambda: write("/usr/probe"),
    "write /var": lambda: write("/var/probe"),
    "read homes": lambda: os.listdir("/root") or call(1),
    "see others' processes": lambda: os.stat("/proc/1"),
    "see the machine": lambda: os.stat("/proc/meminfo"),
    "tune the kernel": lambda: write("/proc/sys/kernel/printk"),
    "change control groups": lambda: os.mkdir("/sys/fs/cgroup/probe"),
    "reach disks": lambda: os.stat("/dev/vda") and os.stat("/dev/mem"),
    "run what it wrote": lambda: mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC),
    "sniff packets": lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW).close(),
    "speak netlink": lambda: socket.socket(socket.AF_NETLINK, socket.SOCK_RAW).close(),
    "make namespaces": lambda: call(libc.unshare(0x10000000)),
    "mount": lambda: call(libc.mount(b"none", b"/tmp", b"tmpfs", 0, None)),
    "set the clock": lambda: time.clock_settime(time.CLOCK_REALTIME, time.time()),
    "name the machine": lambda: socket.sethostname("probe"),
    "run in real time": lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)),
    "make set-user-id files": lambda: (write("/tmp/a"), os.close(os.open("/tmp/a", os.O_CREAT)), os.chmod("/tmp/a", 0o4755)),
    "become root": lambda: os.setuid(0),
    "load modules": lambda: call(libc.syscall(175, None, 0, None)),
    "read the kernel's log": lambda: open("/dev/kmsg").close(),
    "take another personality": lambda: call(libc.personality(0x0008) and 1),
}
found = {}
for name, act in tries.items():
    try:
        act()
    except (OSError, PermissionError):
        found[name] = False
    else:
        found[name] = True
status = dict(line.split(":\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\t" in line)
found["status"] = {name: status[name].strip() for name in ("NoNewPrivs", "Seccomp", "CapEff", "CapBnd", "Uid")}
found["users"] = open("/proc/self/uid_map").read().split()
print("PROBE" + json.dumps(found))
"""
ALLOWED = {"write its data", "write its temporary files", "connect"}


@pytest.mark.parametrize("name", ["waypost.service", "waypost-backup.service"])
def test_the_hardening_is_in_force(name: str, system: BootedSystem, release: Layer) -> None:
    """A program in place of Waypost's, under the unit as it is shipped."""
    text = (ROOT / "deploy/systemd" / name).read_text()
    text = re.sub(
        r"^ExecStart=.*$", "ExecStart=/usr/bin/python3 /usr/local/lib/probe.py", text, flags=re.MULTILINE
    )
    text = re.sub(r"^(Type|Restart|NotifyAccess)=.*$", "", text, flags=re.MULTILINE).replace(
        "[Service]", "[Service]\nType=oneshot"
    )
    unit = f"probe-{name}"
    system.run("sh", "-c", "mkdir -p /usr/local/lib; cat >/usr/local/lib/probe.py", stdin=PROBE)
    system.run("sh", "-c", f"cat >/etc/systemd/system/{unit}", stdin=text)
    system.run("systemctl", "daemon-reload")
    system.run("systemctl", "start", unit)
    said = wait_for(
        lambda: re.findall(r"PROBE(\{.*\})", system.run("journalctl", "--output=cat", "--unit", unit)),
        "what it found",
    )
    found = json.loads(said[0])
    status, users = found.pop("status"), found.pop("users")
    assert {each for each, could in found.items() if could} == ALLOWED
    assert (status["NoNewPrivs"], status["Seccomp"]) == ("1", "2")
    assert {int(status["CapEff"], 16), int(status["CapBnd"], 16)} == {0}
    assert status["Uid"].split()[0] != "0"
    assert users != ["0", "0", "4294967295"], "it shares the machine's users"


def test_stopped_with_its_socket_it_refuses(system: BootedSystem, owner: Owner) -> None:
    system.run("systemctl", "stop", "waypost.socket", UNIT)
    assert system.show(UNIT, "Result") == "success"
    assert "Traceback" not in system.run("journalctl", "--unit", UNIT)
    with pytest.raises(requests.ConnectionError):
        visit()
