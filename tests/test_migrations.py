"""Do the migrations lead to the models, all the way and in one line?"""

from __future__ import annotations

import pytest
import sqlalchemy as sa
from alembic import command
from alembic.script import ScriptDirectory

from app.links.models import Link
from tests.migrations import alembic_config


@pytest.mark.databases
def test_migrations_lead_to_the_models(session) -> None:
    command.check(alembic_config())


def test_there_is_one_newest_revision(session) -> None:
    assert len(ScriptDirectory.from_config(alembic_config()).get_heads()) == 1


@pytest.mark.databases
def test_links_of_before_are_found(session, alice, make_link) -> None:
    """They get the text that a search looks in."""
    link = make_link(alice, "Straße", title="Two\nLINES")
    wanted, destination = link.search_text, link.location_url
    session.close()  # else its read would keep PostgreSQL from changing the table
    command.downgrade(alembic_config(), "e1a4c7093b5d-1")
    command.upgrade(alembic_config(), "head")
    assert session.scalar(sa.select(Link.search_text)) == wanted == f"strasse\n{destination}\ntwo lines"
