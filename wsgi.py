"""The application for a WSGI server and for `flask --app wsgi`."""

import sys

from app import create_app
from app.config import BadSettings

try:
    app = create_app()
except BadSettings as error:
    sys.exit(f"These settings can't be used:\n{error}")
