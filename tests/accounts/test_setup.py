"""Set-up token: it is stored safely, and valid only until the first account exists."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from app.accounts import setup
from app.core.config import Settings
from tests.factories import PASSWORD
from tests.users import create_user


def test_the_token_is_made_once_and_readable_by_its_owner_alone(data_dir: Path) -> None:
    token = setup.setup_token(data_dir)
    assert len(token) > 40
    assert setup.setup_token(data_dir) == token
    assert stat.S_IMODE((data_dir / "setup_token").stat().st_mode) == 0o600


def test_a_copied_token_is_closed_again(data_dir: Path) -> None:
    setup.setup_token(data_dir)
    (data_dir / "setup_token").chmod(0o644)
    setup.setup_token(data_dir)
    assert stat.S_IMODE((data_dir / "setup_token").stat().st_mode) == 0o600


def test_the_address_is_there_until_there_is_a_user(settings: Settings, session) -> None:
    token = setup.setup_token(settings.data_dir)
    assert setup.pending_address(settings) == f"http://127.0.0.1:8000/setup?token={token}"
    create_user("alice@example.com", PASSWORD)
    assert setup.pending_address(settings) is None
    assert not (settings.data_dir / "setup_token").exists()


@pytest.mark.settings(BASE_URL="https://go.example", DASHBOARD_URL="https://links.example")
def test_the_address_is_where_the_dashboard_is(settings: Settings, session) -> None:
    address = setup.pending_address(settings)
    assert address is not None
    assert address.startswith("https://links.example/setup?token=")


def test_without_a_token_file_nothing_is_right(settings: Settings, session) -> None:
    assert not setup.is_right(settings.data_dir, "")
    (settings.data_dir / "setup_token").write_text("")
    assert not setup.is_right(settings.data_dir, "")


def test_the_sign_in_says_where_to_begin_until_there_is_a_user(session, client: FlaskClient) -> None:
    def is_said() -> bool:
        return "Open the set-up address that Waypost printed" in client.get("/login").text

    assert is_said()
    create_user("alice@example.com", PASSWORD)
    assert not is_said()
