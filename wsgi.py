"""The application for a WSGI server and for `flask --app wsgi`."""

import os
import sys

from app import create_app
from app.config import BadSettings

os.umask(0o077)  # databases, journal, pictures and keys are for this user alone

try:
    app = create_app()
except BadSettings as error:
    sys.exit(f"These settings can't be used:\n{error}")
