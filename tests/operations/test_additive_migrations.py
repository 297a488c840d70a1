"""Migrations during a reload: the running version works on with what they change, or says that it can't."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from alembic.script import Script, ScriptDirectory
from flask import Flask
from sqlalchemy import text

from app.core.extensions import db
from app.operations import database

FIRST_RELEASE = "e70b3d94a1f6"  # nobody reloads into what came before it
TAKING = {"drop_column", "drop_table", "alter_column", "rename_table"}


@pytest.fixture
def script(app: Flask, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptDirectory]:
    """The migrations, of which the newest is pending."""
    with app.app_context():
        database.migrate_tables()
        found = database.scripts()
        newest = head_of(found)
        with db.engine.begin() as connection:
            connection.execute(
                text("UPDATE alembic_version SET version_num = :before"), {"before": newest.down_revision}
            )
        monkeypatch.setattr(database, "scripts", lambda: found)
        yield found


def head_of(script: ScriptDirectory) -> Script:
    (found,) = script.get_revisions(script.get_heads())
    assert found is not None
    return found


def test_what_only_adds_is_migrated(script: ScriptDirectory, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(head_of(script).module, "needs_restart", False, raising=False)
    assert database.heads() != {head_of(script).revision}
    database.require_additive()


def test_what_the_running_version_can_not_work_with_needs_a_restart(script: ScriptDirectory) -> None:
    newest = head_of(script)
    newest.module.needs_restart = True  # type: ignore[attr-defined]
    with pytest.raises(click.ClickException, match=f"{newest.revision}.*restart Waypost") as raised:
        database.require_additive()
    assert "Nothing was changed" in raised.value.message
    assert database.heads() == {newest.down_revision}


def test_a_migration_that_takes_away_says_whether_it_needs_a_restart() -> None:
    """`needs_restart = True` where the version before it reads or writes what it drops, renames or retypes."""
    silent = []
    found = database.ScriptDirectory(str(Path(inspect.getfile(database)).parents[1] / "migrations"))
    for one in found.iterate_revisions(found.get_heads(), FIRST_RELEASE):
        tree = ast.parse(Path(str(one.path)).read_text())
        (upgrade,) = [
            node for node in tree.body if isinstance(node, ast.FunctionDef) and node.name == "upgrade"
        ]
        called = {
            node.func.attr
            for node in ast.walk(upgrade)
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute)
        }
        if called & TAKING and not hasattr(one.module, "needs_restart"):
            silent.append(one.revision)
    assert silent == []
