"""The conformance suite of the Model Context Protocol, where there is Node.js.

Its scenarios ask for tools of its own. `conformance.reference_server` has them behind our transports, and must
pass all. `way mcp` has other tools: of it, exactly those fail that `conformance/expected_failures.yml` names.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.instance import Waypost, free_port
from tests.test_agents import FOLDER, Http

SUITE = Path(__file__).with_name("conformance")
PROGRAM = SUITE / "node_modules/@modelcontextprotocol/conformance/dist/index.js"
# what each server must be able to, whatever its tools are
FOR_ALL = {"server-initialize", "ping", "tools-list", "prompts-list", "dns-rebinding-protection"}
SCENARIOS = 30

needs_suite = pytest.mark.skipif(
    not PROGRAM.exists() or shutil.which("node") is None,
    reason="needs Node.js and the suite: npm ci --prefix clients/python/tests/conformance",
)
Run = Callable[..., tuple[int, dict[str, bool]]]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs the suite against an address: how it ended, and which scenario passed."""

    def run(url: str, *options: str) -> tuple[int, dict[str, bool]]:
        command = ["node", str(PROGRAM), "server", "--url", url, "-o", str(tmp_path), *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
        lines = re.findall(r"^\S ([\w-]+): \d+ passed, (\d+) failed$", done.stdout, re.MULTILINE)
        return done.returncode, {name: failed == "0" for name, failed in lines}

    return run


@pytest.fixture
def reference() -> Iterator[str]:
    port = free_port()
    command = [sys.executable, "-W", "ignore", "-m", "tests.conformance.reference_server", str(port)]
    process = subprocess.Popen(command, cwd=FOLDER, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}/mcp"
    deadline = time.monotonic() + 60
    while True:
        try:
            httpx.get(url)
            break
        except httpx.HTTPError:
            assert time.monotonic() < deadline
            assert process.poll() is None
            time.sleep(0.1)
    yield url
    process.terminate()
    process.wait(30)


@needs_suite
def test_our_transports_pass_every_scenario(run: Run, reference: str) -> None:
    code, found = run(reference)
    assert [name for name, is_passed in found.items() if not is_passed] == []
    assert (code, len(found)) == (0, SCENARIOS)


@needs_suite
@pytest.mark.full
def test_way_mcp_passes_all_that_does_not_ask_for_the_suites_own_tools(run: Run, waypost: Waypost) -> None:
    http = Http(waypost)
    try:
        code, found = run(http.url, "--expected-failures", str(SUITE / "expected_failures.yml"))
    finally:
        http.stop()
    assert {name for name, is_passed in found.items() if is_passed} >= FOR_ALL
    assert (code, len(found)) == (0, SCENARIOS), found  # also where one that is expected to fail passes
