"""Real providers as processes of their own: `oidc-provider-mock`, and `oidc-provider` of Node.js."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
import requests

from tests.server import free_port, wait_for

FOLDER = Path(__file__).parent / "node_provider"
MODULE = FOLDER / "node_modules" / "oidc-provider"
NO_NODE = "no Node.js, or `npm ci` in tests/accounts/oidc/node_provider was not run (`make test` does it)"
ALICE = {"sub": "alice", "email": "alice@example.com", "email_verified": True, "name": "Alice"}
NODE_SECRET = "secret-of-the-client"


@contextmanager
def running(command: list[str], port: int, environ: Mapping[str, str]) -> Iterator[str]:
    """A provider on this port, ready. Returns its issuer."""
    process = subprocess.Popen(
        command,
        env={**os.environ, **environ},
        cwd=FOLDER,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    url = f"http://127.0.0.1:{port}"
    try:
        wait_for(lambda: answers(process, url), "the provider")
        yield url
    finally:
        process.terminate()
        process.wait(30)


def answers(process: subprocess.Popen[bytes], url: str) -> bool:
    assert process.poll() is None, "the provider ended"
    try:
        found = requests.get(f"{url}/.well-known/openid-configuration", timeout=5)
    except requests.ConnectionError:
        return False
    return found.status_code == 200


@contextmanager
def mock_provider() -> Iterator[str]:
    """It asks who one is by a form, and takes every client."""
    port = free_port()
    command = [sys.executable, "-m", "oidc_provider_mock", "--port", str(port)]
    command += ["--user-claims", json.dumps(ALICE)]
    with running(command, port, {}) as url:
        yield url


@contextmanager
def node_provider(port: int, site: str) -> Iterator[str]:
    """It signs everybody in as alice. `site`: where Waypost is."""
    node = shutil.which("node")
    if node is None or not MODULE.exists():
        pytest.skip(NO_NODE)
    with running([node, "provider.js"], port, {"PORT": str(port), "SITE": site}) as url:
        yield url
