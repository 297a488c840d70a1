"""Folders of the program and of its files, in a clone and installed as a package."""

from __future__ import annotations

import sys
from pathlib import Path

from platformdirs import user_data_path

# the folder with the package `app`: a clone, or an environment's `site-packages`
ROOT = Path(__file__).resolve().parent.parent.parent
IS_CLONE = (ROOT / "pyproject.toml").is_file()
# where relative paths of settings start, and where `.env` lies
HOME = ROOT if IS_CLONE else user_data_path("waypost", appauthor=False)
DATA_DIR = HOME / "instance" if IS_CLONE else HOME
# the command that runs this program; processes of it are started with `cwd=ROOT`
PROGRAM = (sys.executable, "-m", "app.cli")
PROGRAM_FILE = ROOT / "app" / "cli" / "__main__.py"
