"""Is a seventh way to deliver one file, and nothing else?"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from app.config import ROOT
from tests.notifications.receivers import WebReceiver

SEVENTH = '''
"""How is something told on a wall? It is written there."""

from collections.abc import Mapping

from app.notifications.door import Door
from app.notifications.judging import judge
from app.notifications.message import Message
from app.notifications.transport import Sent, Setting, Transport


def send(fields: Mapping[str, str], message: Message, door: Door) -> Sent:
    return judge(door.request("POST", fields["wall_address"], body=message.title.encode()))


TRANSPORT = Transport(
    label="Wall",
    words=("mural",),
    settings=(
        Setting(
            name="wall_address",
            label="Wall",
            kind="address",
            example="https://wall.example/7",
            guidance="Stand before it and read its number.",
        ),
    ),
    steps=("Find a wall.",),
    send=send,
)
'''


def test_a_seventh_type_is_one_file(
    tmp_path: Path, web: WebReceiver, data_dir: Path, database_url: str
) -> None:
    """Form, API, list, dashboard and delivery know it, and no line was written for it elsewhere."""
    shutil.copytree(ROOT / "app", tmp_path / "app", ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / "app" / "notifications" / "transports" / "wall.py").write_text(SEVENTH)
    settings = {
        "DATA_DIR": str(data_dir),
        "DATABASE_URL": database_url,
        "SECRET_KEY": "a secret of the tests",
        "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
    }
    environ = {**os.environ, **{f"WAYPOST_{name}": value for name, value in settings.items()}}
    done = subprocess.run(
        [sys.executable, "-m", "tests.notifications.seventh", f"{web.url}/7"],
        cwd=tmp_path,  # whose `app` comes before ours
        env={**environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert [(heard.path, heard.body) for heard in web.heard] == [("/7", b"A test from Waypost")]
