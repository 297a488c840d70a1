"""The program `waypost`, also `python -m app.cli`: the application and its commands."""

from __future__ import annotations

import os
import sys

from flask import Flask

from app import cli, create_app
from app.core.config import BadSettings


def load_application() -> Flask:
    """Makes the application by the settings of the environment. Ends the program where they can't be used."""
    os.umask(0o077)  # databases, journal, pictures and keys are for this user alone
    try:
        return create_app()
    except BadSettings as error:
        sys.exit(f"These settings can't be used:\n{error}")


def main() -> None:
    os.environ["FLASK_SKIP_DOTENV"] = "1"  # Flask would read a file of the folder that this is run from
    cli.make_group(load_application()).main(prog_name="waypost")


if __name__ == "__main__":
    main()
