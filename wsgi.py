"""The application for a WSGI server, for `flask --app wsgi`, and for `./waypost`."""

import os
import sys

from app import cli, create_app
from app.core.config import BadSettings

os.umask(0o077)  # databases, journal, pictures and keys are for this user alone

try:
    app = create_app()
except BadSettings as error:
    sys.exit(f"These settings can't be used:\n{error}")

if __name__ == "__main__":
    cli.make_group(app).main(prog_name="waypost")
