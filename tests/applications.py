"""Applications in the process of a test, which are closed however the test ends."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import cast

import pytest
from flask import Flask
from sqlalchemy.orm import Session, scoped_session

from app import create_app
from app.core.config import Settings, load_settings
from app.core.extensions import db
from tests.factories import Factory
from tests.server import Server

OPENED = ("redirects", "rate_limiter", "audit_failures")


@contextmanager
def application(settings: Settings) -> Iterator[Flask]:
    """What another process with these settings would make."""
    app = create_app(settings)
    try:
        yield app
    finally:
        for part in OPENED:
            app.extensions[part].close()  # while its database is there
        with app.app_context():
            db.engine.dispose()


@contextmanager
def rows_of(server: Server, template: Path) -> Iterator[Factory]:
    """Makes rows of a server that was never started: a command for each would take seconds."""
    shutil.copytree(template, server.data_dir)
    with (
        pytest.MonkeyPatch.context() as patch,
        application(load_settings(server.environ)) as app,
        app.app_context(),
    ):
        patch.setattr("app.accounts.hashing.WAIT_SECONDS", 60)  # no test fails on a busy machine
        yield Factory(cast("scoped_session[Session]", db.session))
