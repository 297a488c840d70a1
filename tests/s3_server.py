"""A real S3-compatible server for the tests (moto's), and a line to it that can be cut, held up or refused.

`make test` builds its environment, `.venv-s3`: it needs an older release of a package that Waypost needs, too.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import socket
import subprocess
import threading
from collections.abc import Iterator

import pytest
import requests

from app.core.folders import ROOT
from app.net.s3 import Bucket, S3Account
from app.net.s3_uploads import unfinished
from tests.server import free_port, wait_for

REGION = "us-east-1"
PYTHON = ROOT / ".venv-s3" / "bin" / "python"
BUSY = b"<?xml version='1.0'?><Error><Code>SlowDown</Code><Message>Please reduce your rate.</Message></Error>"
# makes an account that may do everything, before the server verifies keys
MAKE_ACCOUNT = """
import boto3, json, sys
iam = boto3.client("iam", endpoint_url=sys.argv[1], region_name=sys.argv[2],
                   aws_access_key_id="testing", aws_secret_access_key="testing")
iam.create_user(UserName="waypost")
allowed = {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
iam.put_user_policy(UserName="waypost", PolicyName="all", PolicyDocument=json.dumps(allowed))
key = iam.create_access_key(UserName="waypost")["AccessKey"]
print(json.dumps([key["AccessKeyId"], key["SecretAccessKey"]]))
"""


def python() -> str:
    """The interpreter that has moto. `S3_SERVER_PYTHON` names another one."""
    found = shutil.which(os.environ.get("S3_SERVER_PYTHON", str(PYTHON)))
    if found is None:
        pytest.skip("no moto here: `make .venv-s3/installed`")
    return found


class S3Server:
    """One server on a port of its own. It verifies signatures, and has one account."""

    def __init__(self) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.buckets = 0
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> S3Server:
        command = [python(), "-m", "moto.server", "-H", "127.0.0.1", "-p", str(self.port)]
        self._process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.answers, "the S3 server")
        made = subprocess.run(
            [python(), "-c", MAKE_ACCOUNT, self.url, REGION], check=True, capture_output=True, text=True
        )
        self.key_id, self.secret = json.loads(made.stdout)
        self.reset_auth()  # from here on, keys are verified
        return self

    def reset_auth(self) -> None:
        requests.post(f"{self.url}/moto-api/reset-auth", data="0", timeout=10).raise_for_status()

    def answers(self) -> bool:
        with contextlib.suppress(requests.ConnectionError):
            return requests.get(f"{self.url}/moto-api/data.json", timeout=10).ok
        return False

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait()

    def new_bucket(self) -> str:
        """A bucket of its own for a test, as an address with a prefix."""
        self.buckets += 1
        address = f"s3://bucket-{self.buckets}/some/where"
        Bucket(self.account(), address).ask("PUT", "")
        return address

    def account(self, **changes: str) -> S3Account:
        found = {"endpoint": self.url, "region": REGION, "key_id": self.key_id, "secret": self.secret}
        return S3Account(**(found | changes))

    def settings(self, endpoint: str = "") -> dict[str, str]:
        keys = {"S3_ACCESS_KEY_ID": self.key_id, "S3_SECRET_ACCESS_KEY": self.secret}
        return {"S3_ENDPOINT": endpoint or self.url, **keys}

    def keys(self, address: str) -> list[str]:
        return [each.name for each in Bucket(self.account(), address).objects()]

    def uploads(self, address: str) -> list[str]:
        """Keys of uploads that are neither complete nor aborted."""
        return [key for key, _, _ in unfinished(Bucket(self.account(), address), "")]


class FaultyLine:
    """A line to a server. `fault`: "" for none, `cut` after `after` bytes of a request,
    `cut answer` after so many of an answer, `busy` (503), `slow`."""

    def __init__(self, port: int) -> None:
        self.target, self.fault, self.after, self.requests = port, "", 0, 0
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        self.ended = threading.Event()
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        self.ended.set()
        self.listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                line, _ = self.listener.accept()
                self.requests += 1
                threading.Thread(target=self._serve, args=(line,), daemon=True).start()

    def _serve(self, line: socket.socket) -> None:
        with line, contextlib.suppress(OSError):
            if self.fault == "busy":
                self._refuse(line)
                return
            with socket.create_connection(("127.0.0.1", self.target)) as other:
                back = threading.Thread(target=self._pass_back, args=(other, line), daemon=True)
                back.start()
                sent = 0
                while content := line.recv(65536):
                    sent += len(content)
                    if self.fault == "cut" and sent > self.after:
                        return
                    other.sendall(content)
                back.join(30)

    def _pass_back(self, other: socket.socket, line: socket.socket) -> None:
        with contextlib.suppress(OSError):
            sent = 0
            while content := other.recv(65536):
                if self.fault == "slow":
                    self.ended.wait(30)
                sent += len(content)
                if self.fault == "cut answer" and sent > self.after:
                    break
                line.sendall(content)
            line.shutdown(socket.SHUT_WR)

    def _refuse(self, line: socket.socket) -> None:
        head = b"HTTP/1.1 503 Slow Down\r\nConnection: close\r\nContent-Length: %d\r\n\r\n" % len(BUSY)
        line.sendall(head + BUSY)
        line.shutdown(socket.SHUT_WR)
        while line.recv(65536):
            pass


@contextlib.contextmanager
def faulty_line(server: S3Server) -> Iterator[FaultyLine]:
    line = FaultyLine(server.port)
    yield line
    line.close()
