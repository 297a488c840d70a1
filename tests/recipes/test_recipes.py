"""Every recipe of CONTRIBUTING, followed to the letter: the new type works in every part of the application."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.notifications.conftest import web, web_receiver
from tests.notifications.receivers import WebReceiver
from tests.recipes.following import Copy

pytestmark = pytest.mark.full
__all__ = ["web", "web_receiver"]


@pytest.fixture
def copy(tmp_path: Path, data_dir: Path, database_url: str) -> Copy:
    """A copy of the tree, on a migrated database."""
    settings = {
        "DATA_DIR": str(data_dir),
        "DATABASE_URL": database_url,
        "SECRET_KEY": "a secret of the tests",
        "ALLOW_PRIVATE_NETWORKS": "127.0.0.0/8",
    }
    return Copy(tmp_path / "tree", settings)


def test_a_pixel_provider(copy: Copy) -> None:
    copy.follow("A pixel provider")
    copy.check("provider")


def test_a_resource(copy: Copy) -> None:
    copy.follow("A resource")
    copy.check("resource")


def test_a_handler_type(copy: Copy, web: WebReceiver) -> None:
    copy.follow("A handler type")
    copy.check("handler type", f"{web.url}/7")
    assert [(heard.path, heard.body) for heard in web.heard] == [("/7", b"A test from Waypost")]


def test_a_setting_of_a_link(copy: Copy) -> None:
    copy.follow("A setting of a link")
    changed = copy.changed_files()
    (migration,) = (name for name in changed if name.startswith("app/migrations/versions/"))
    assert changed - {migration} == {
        "app/links/models.py",
        "app/links/schema.py",
        "app/redirects/compiled_link.py",
        "app/templates/dashboard/links/_folds.html",
    }
    copy.check("setting")


def test_a_targeting_type(copy: Copy) -> None:
    copy.follow("A targeting type")
    copy.check("targeting type")


def test_a_language(copy: Copy) -> None:
    copy.follow("A language")
    folder = "app/i18n/nl/LC_MESSAGES"
    assert copy.changed_files() == {f"{folder}/messages.po", f"{folder}/messages.mo"}
    copy.check("language")
