"""Caddy, as compose.full.yaml runs it: visitors wait while Waypost is restarted, and none sees an error."""

from __future__ import annotations

import http.client
import re
import shutil
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from app.core.folders import ROOT
from tests.proxies import FIRST_WITH_REQUEST_BUFFERS, caddy_version
from tests.server import BROWSER, Server, free_port, wait_for
from tests.test_kills import make_hot_link

pytestmark = pytest.mark.full


@pytest.fixture
def waiting_proxy(make_server, tmp_path: Path) -> Iterator[tuple[Server, int]]:
    """A server with a link, and the port of a Caddy before it."""
    if shutil.which("caddy") is None:
        pytest.skip("no caddy here: install the package caddy")
    server, port = make_server(), free_port()
    make_hot_link(server)
    file = tmp_path / "Caddyfile"
    file.write_text(adapt((ROOT / "deploy" / "compose.Caddyfile").read_text(), server.port, port))
    command = ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]
    environ = server.environ | {"XDG_DATA_HOME": str(tmp_path), "XDG_CONFIG_HOME": str(tmp_path)}
    environ["WAYPOST_NAME"] = f"http://127.0.0.1:{port}"
    with (tmp_path / "caddy.log").open("wb") as log:
        process = subprocess.Popen(command, env=environ, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        wait_for(lambda: is_answered(port), "the proxy")
        yield server, port
    finally:
        process.terminate()
        process.wait(30)


def adapt(site: str, upstream: int, port: int) -> str:
    """The file with this machine's server, without TLS, and for older versions of Caddy."""
    site = site.replace("waypost:8000", f"127.0.0.1:{upstream}").replace(
        "\tservers {", "\tadmin off\n\tservers {"
    )
    site = re.sub(r"^https:// \{.*?^\}\n", "", site, flags=re.MULTILINE | re.DOTALL)
    if caddy_version() < FIRST_WITH_REQUEST_BUFFERS:
        site = re.sub(
            r"^(\s*)request_buffers ", r"\1buffer_requests\n\1max_buffer_size ", site, flags=re.MULTILINE
        )
    return site


def is_answered(port: int) -> bool:
    try:
        return visit(port) == 302
    except OSError:
        return False


def visit(port: int) -> int:
    line = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    line.request("GET", "/hot", headers={"User-Agent": BROWSER})
    answer = line.getresponse()
    answer.read()
    line.close()
    return answer.status


def test_visitors_wait_for_a_restart(waiting_proxy: tuple[Server, int]) -> None:
    server, port = waiting_proxy
    server.stop()
    with ThreadPoolExecutor(4) as pool:
        visits = [pool.submit(visit, port) for _ in range(4)]
        server.start()
        assert [each.result() for each in visits] == [302] * 4
