"""Do the migrations lead to the models, all the way and in one line?"""

from __future__ import annotations

import pytest
from alembic import command
from alembic.script import ScriptDirectory

from tests.migrations import alembic_config


@pytest.mark.databases
def test_migrations_lead_to_the_models(session) -> None:
    command.check(alembic_config())


def test_there_is_one_newest_revision(session) -> None:
    assert len(ScriptDirectory.from_config(alembic_config()).get_heads()) == 1
