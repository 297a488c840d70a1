"""Late modules: what an instance does not use is not loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from app.core.folders import ROOT
from app.core.late_modules import LateModule

LOADED = "import json, sys; from app import create_app; create_app(); print(json.dumps(sorted(sys.modules)))"


ENGINES = {"redis", "webauthn", "opentelemetry", "clickhouse_connect", "authlib", "psycopg"}


def test_what_most_instances_never_use_is_not_loaded(tmp_path: Path) -> None:
    """By a process that has made the application, with settings that name no engine."""
    environ = {"DATA_DIR": str(tmp_path), "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", LOADED], env=environ, capture_output=True, text=True, check=True, cwd=Path("/")
    )
    loaded = set(json.loads(done.stdout))
    assert "flask" in loaded
    assert loaded & ENGINES == set()


def test_it_is_imported_at_its_first_use(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "late_example.py").write_text("VALUE = 7\n")
    monkeypatch.syspath_prepend(tmp_path)
    late = LateModule("late_example")
    assert "late_example" not in sys.modules
    assert late.VALUE == 7
    assert "late_example" in sys.modules
    with pytest.raises(AttributeError, match="OTHER"):
        _ = late.OTHER
