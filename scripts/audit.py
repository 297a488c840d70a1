"""Compares the pinned versions with the advisories that PyPI publishes: `make audit`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILES = (
    "requirements.txt",
    "requirements-clickhouse.txt",
    "requirements-tracing.txt",
    "requirements-dev.txt",
    "requirements-fuzz.txt",
    "requirements-s3.txt",
    "requirements-audit.txt",
    "clients/python/requirements-dev.txt",
)
# nothing is installed or resolved for it; a package that PyPI does not answer about is no clean one
OPTIONS = ("--strict", "--disable-pip", "--require-hashes", "--progress-spinner", "off")
UNKNOWN = ("Traceback", "could not be audited", "Could not connect")


def main(program: str, *options: str) -> None:
    """Run pip-audit. Exits with 1 where it finds an advisory, and where it can't find out."""
    command = [program, *OPTIONS, *options, *(word for name in FILES for word in ("-r", name))]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    print(done.stdout, end="")
    if any(sign in done.stderr for sign in UNKNOWN):
        reason = done.stderr.strip().splitlines()[-1]
        sys.exit(
            f"PyPI gave no answer about advisories, so the versions are unchecked. It failed with: {reason}"
        )
    print(done.stderr, end="", file=sys.stderr)
    sys.exit(done.returncode)


if __name__ == "__main__":
    main(*sys.argv[1:])
