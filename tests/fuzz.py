"""Sends generated requests to the API of a real server and compares the answers with its OpenAPI document.

`make fuzz` installs Schemathesis in an environment of its own. The server and the tool run in a network of their
own, for addresses of webhooks and domains are generated too: Linux with user namespaces is needed.
"""

from __future__ import annotations

import argparse
import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import requests

from tests.factories import PASSWORD
from tests.server import Server

SEEDS = (1, 2, 3)
CONFIG = Path(__file__).with_name("schemathesis.toml")
ALONE = ("unshare", "--user", "--map-root-user", "--net")
# one row of each kind, so that some ids exist
ROWS = {
    "projects": {"name": "Launch"},
    "domains": {"host": "links.example"},
    "pixels": {"type": "social_a", "name": "Shop", "pixel": "1"},
    "notification-handlers": {"type": "webhook", "name": "Hook", "webhook": "https://hook.example/"},
    "links": {"location_url": "https://example.com/", "url": "spring"},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument(
        "--max-examples", type=int, default=10, help="cases of each operation beside the fixed ones"
    )
    parser.add_argument("--seeds", type=int, nargs="+", default=SEEDS)
    parser.add_argument("rest", nargs="*", help="more options of `st run`, after --")
    asked = parser.parse_args()
    tool = os.environ.get("SCHEMATHESIS") or shutil.which("schemathesis")
    if tool is None:
        sys.exit("Run `make fuzz`, or name the command of Schemathesis 4 with SCHEMATHESIS=")
    if "WAYPOST_FUZZ_ALONE" not in os.environ:
        run_alone()
    with tempfile.TemporaryDirectory() as place:
        server = Server(Path(place) / "data", API_RATE_LIMIT="0").start()
        try:
            failed = [seed for seed in asked.seeds if run(tool, server, seed, asked.max_examples, asked.rest)]
        finally:
            server.stop()
            sys.stderr.writelines(log_lines(server))
    if failed:
        sys.exit(f"Findings with the seeds {failed}")


def log_lines(server: Server) -> list[str]:
    """The server's output except request lines: an exception is a finding, too."""
    return [line for line in server.written().splitlines(keepends=True) if " INFO " not in line]


def run_alone() -> None:
    """Restart this program in a network namespace that has only a loopback."""
    again = shlex.join([sys.executable, "-m", "tests.fuzz", *sys.argv[1:]])
    command = [*ALONE, "sh", "-c", f"ip link set lo up && exec {again}"]
    os.execvpe(command[0], command, {**os.environ, "WAYPOST_FUZZ_ALONE": "1"})


def run(tool: str, server: Server, seed: int, max_examples: int, rest: list[str]) -> int:
    """Run the tool with one seed and an account of its own. Returns its exit status, 0 for no findings."""
    email = f"seed{seed}@example.com"
    server.flask("users", "create", "--email", email, "--password-stdin", stdin=PASSWORD)
    key = server.flask("keys", "create", "--email", email, "--name", "fuzz", "--members").strip()
    make_rows(server, key, seed)
    command = [
        tool, "--config-file", str(CONFIG), "run", f"{server.url}/api/openapi.json", "--checks", "all", "--seed", str(seed),
        "--header", f"Authorization: Bearer {key}", "--max-examples", str(max_examples),
        "--continue-on-failure", "--generation-database", "none", *rest,
    ]  # fmt: skip
    return subprocess.run(command, check=False).returncode


def make_rows(server: Server, key: str, seed: int) -> None:
    rows = {**ROWS, "links": {**ROWS["links"], "url": f"spring-{seed}"}}
    for kind, fields in rows.items():
        headers = {"Authorization": f"Bearer {key}"}
        answer = requests.post(f"{server.url}/api/{kind}", data=fields, headers=headers, timeout=30)
        answer.raise_for_status()


if __name__ == "__main__":
    main()
