"""docs/webhooks.md: each function there takes what the transport signs, and nothing else."""

from __future__ import annotations

import base64
import datetime as dt
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from app.core.leases import precise_now
from app.notifications.transports import webhook
from tests.docs.pages import block_after

SECRET, OLD = webhook.new_secret(), webhook.new_secret()
BODY = '{"type":"link.started","data":{"title":"größer"}}'


def sent(**changes: Any) -> dict[str, Any]:
    """A call as the transport signs it; `body`, `secret`, `now` and single headers may be others."""
    fields = {"secret": SECRET} | changes.pop("fields", {})
    headers = webhook.signed(fields, "msg_1", BODY, precise_now() + changes.pop("later", dt.timedelta()))
    call = {"secret": changes.pop("secret", SECRET), "body": changes.pop("body", BODY)}
    return call | {"headers": {**headers, **changes}}


def make_cases() -> dict[str, tuple[dict[str, Any], bool]]:
    """Calls, and whether they are true. They are made when they are needed: each is good for five minutes."""
    day = {"secret_before": OLD, "secret_before_until": (precise_now() + dt.timedelta(hours=1)).isoformat()}
    half = base64.b64encode(b"half").decode()
    return {
        "as it is sent": (sent(), True),
        "with two secrets": (sent(fields=day), True),
        "with the old secret on the receiver": (sent(fields=day, secret=OLD), True),
        "another secret": (sent(secret=OLD), False),
        "another body": (sent(body=BODY.replace("started", "ended")), False),
        "another id": (sent(**{"webhook-id": "msg_2"}), False),
        "six minutes old": (sent(later=-dt.timedelta(minutes=6)), False),
        "eight minutes early": (sent(later=dt.timedelta(minutes=8)), False),
        "no time": (sent(**{"webhook-timestamp": ""}), False),
        "a time that is none": (sent(**{"webhook-timestamp": "-1e9"}), False),
        "no signature": (sent(**{"webhook-signature": ""}), False),
        "half of a signature": (sent(**{"webhook-signature": f"v1,{half}"}), False),
        "a signature of another version": (sent(**{"webhook-signature": "v1a,AAAA"}), False),
    }


# language: how a file with the function and a file that calls it become a command
DRIVERS: Mapping[str, tuple[str, str]] = {
    "python": (
        "run.py",
        (
            "import json, sys\nfrom snippet import verify\nfor line in sys.stdin:\n"
            "    one = json.loads(line)\n    print(str(verify(one['secret'], one['headers'], one['body'].encode())).lower())\n"
        ),
    ),
    "node": (
        "run.js",
        (
            "const { readFileSync } = require('node:fs');\neval(readFileSync('snippet.js', 'utf8') + `\n"
            "for (const line of readFileSync(0, 'utf8').trim().split('\\\\n')) {\n"
            "  const one = JSON.parse(line);\n  console.log(verify(one.secret, one.headers, Buffer.from(one.body)));\n}`);\n"
        ),
    ),
    "php": (
        "run.php",
        (
            "<?php\nrequire 'snippet.php';\nwhile ($line = fgets(STDIN)) {\n  $one = json_decode($line, true);\n"
            "  echo verify($one['secret'], $one['headers'], $one['body']) ? 'true' : 'false', \"\\n\";\n}\n"
        ),
    ),
    "go": (
        "run.go",
        (
            'package main\nimport ("bufio"; "encoding/json"; "fmt"; "os")\n'
            "func main() {\n  lines := bufio.NewScanner(os.Stdin)\n  for lines.Scan() {\n"
            "    var one struct { Secret string; Headers map[string]string; Body string }\n"
            "    json.Unmarshal(lines.Bytes(), &one)\n    fmt.Println(Verify(one.Secret, one.Headers, []byte(one.Body)))\n  }\n}\n"
        ),
    ),
}
COMMANDS: Mapping[str, Callable[[str], list[str]]] = {
    "python": lambda _: [sys.executable, "run.py"],
    "node": lambda tool: [tool, "run.js"],
    "php": lambda tool: [tool, "run.php"],
    "go": lambda tool: [tool, "run", "snippet.go", "run.go"],
}
ENDINGS = {"python": "py", "node": "js", "php": "php", "go": "go"}


@pytest.mark.parametrize("language", DRIVERS)
def test_the_function_tells_true_calls_from_others(language: str, tmp_path: Path) -> None:
    tool = sys.executable if language == "python" else shutil.which(language)
    if tool is None:
        pytest.skip(f"no {language} here to run it")
    (tmp_path / f"snippet.{ENDINGS[language]}").write_text(
        block_after("webhooks.md", f"verify: {language}").text
    )
    name, driver = DRIVERS[language]
    (tmp_path / name).write_text(driver)
    cases = make_cases()
    lines = "".join(json.dumps(call) + "\n" for call, _ in cases.values())
    environ = os.environ | {"GOCACHE": str(tmp_path / "cache"), "GO111MODULE": "off", "GOFLAGS": ""}
    done = subprocess.run(
        COMMANDS[language](tool),
        input=lines,
        cwd=tmp_path,
        env=environ,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    answers = dict(zip(cases, done.stdout.split(), strict=True))
    assert answers == {name: str(is_true).lower() for name, (_, is_true) in cases.items()}
