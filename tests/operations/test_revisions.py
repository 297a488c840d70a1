"""Revisions: those that Alembic finds in the migrations, without Alembic."""

from __future__ import annotations

from flask import Flask

from app.operations.database import scripts
from app.operations.revisions import before_each, newest_revisions


def test_they_are_those_of_alembic(app: Flask) -> None:
    with app.app_context():
        found = {each.revision: each.down_revision or "" for each in scripts().walk_revisions()}
        assert before_each() == found
        assert newest_revisions() == set(scripts().get_heads())
