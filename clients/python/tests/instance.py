"""A Waypost of one's own for tests: the real server, from the repository that this package lies in."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path

import httpx

ROOT = Path(__file__).resolve().parents[3]
EMAIL, PASSWORD = "one@example.com", "five small boats go upriver\n"
START_SECONDS = 90
RUN = """
import json, sys
from wsgi import app
done = [app.test_cli_runner().invoke(args=args, input=sys.argv[2]) for args in json.loads(sys.argv[1])]
assert not any(one.exit_code for one in done), [one.output for one in done]
print(json.dumps([one.stdout.strip().rpartition(chr(10))[2] for one in done]))
"""


class Waypost:
    """A started server with an account and a key of each scope."""

    def __init__(self, data_dir: Path, **settings: str) -> None:
        self.log = data_dir.with_suffix(".log")
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.environ = {name: value for name, value in os.environ.items() if not name.startswith("WAYPOST_")}
        self.environ |= {
            "WAYPOST_DATA_DIR": str(data_dir),
            "WAYPOST_PORT": str(self.port),
            "WAYPOST_PROCESSES": "1",
            "WAYPOST_ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
            **{f"WAYPOST_{name}": value for name, value in settings.items()},
        }
        key = ("keys", "create", "--email", EMAIL, "--name", "test", "--scope")
        _, self.key, self.reading_key, self.creating_key = self.run(
            ("users", "create", "--email", EMAIL, "--password-stdin"),
            (*key, "write", "--members"),
            (*key, "read"),
            (*key, "create"),
        )
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [ROOT / "waypost", "serve"],
                env=self.environ,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def run(self, *commands: tuple[str, ...]) -> list[str]:
        """What each of these commands of the application writes. One process imports it for all of them."""
        done = subprocess.run(
            [ROOT / ".venv" / "bin" / "python", "-c", RUN, json.dumps(commands), PASSWORD],
            cwd=ROOT, env=self.environ, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        found: list[str] = json.loads(done.stdout.splitlines()[-1])
        return found

    def wait_until_ready(self) -> None:
        deadline = time.monotonic() + START_SECONDS
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log.read_text()
            with suppress(httpx.HTTPError):
                if httpx.get(f"{self.url}/readyz").status_code == 200:
                    return
            time.sleep(0.1)
        raise AssertionError(f"It was not ready in time:\n{self.log.read_text()}")

    def stop(self) -> None:
        self.process.terminate()
        try:
            self.process.wait(START_SECONDS)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise

    def server_errors(self) -> list[str]:
        """Lines of the log that tell of an answer with a status from 500."""
        lines = re.findall(r"^.*status=5\d\d.*$|^Traceback.*$", self.log.read_text(), re.MULTILINE)
        return [line for line in lines if "path=/readyz" not in line]  # asked while it starts


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port
