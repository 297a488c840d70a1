"""`make audit`: it reports what was found, and never takes a missing answer for a good one."""

from __future__ import annotations

from pathlib import Path

import pytest

from app.core.folders import ROOT
from scripts import audit

NO_NETWORK = (
    "Traceback (most recent call last):\n  File x\nConnectionError: Failed to resolve 'index.example'"
)
NOT_KNOWN = "ERROR:pip_audit._cli:flask: Dependency not found on PyPI and could not be audited: flask (3.0)"
FOUND = "Found 1 known vulnerability in 1 package"
# pip-audit's stderr, its exit code, and the message that we print
ENDS = {
    "nothing found": ("No known vulnerabilities found", 0, None),
    "an advisory": (FOUND, 1, None),
    "no network": (
        NO_NETWORK,
        1,
        "unchecked. It failed with: ConnectionError: Failed to resolve 'index.example'",
    ),
    "a package that PyPI does not know": (NOT_KNOWN, 1, "unchecked"),
    "an answer that is none, and a good end": (NOT_KNOWN, 0, "unchecked"),
}


@pytest.mark.parametrize(("written", "code", "said"), ENDS.values(), ids=ENDS)
def test_the_end(
    written: str, code: int, said: str | None, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    program = tmp_path / "pip-audit"
    program.write_text(f"#!/bin/sh\ncat >&2 <<'END'\n{written}\nEND\nexit {code}\n")
    program.chmod(0o755)
    with pytest.raises(SystemExit) as ended:
        audit.main(str(program))
    if said is None:
        assert ended.value.code == code
        assert capfd.readouterr().err == f"{written}\n"
    else:
        assert said in str(ended.value.code)


def test_every_file_of_pinned_versions_is_compared() -> None:
    found = [*ROOT.glob("requirements*.txt"), *ROOT.glob("clients/*/requirements*.txt")]
    assert {str(path.relative_to(ROOT)) for path in found} == set(audit.FILES)
