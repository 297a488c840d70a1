"""The application for a WSGI server and for `flask --app wsgi`."""

from app import create_app

app = create_app()
