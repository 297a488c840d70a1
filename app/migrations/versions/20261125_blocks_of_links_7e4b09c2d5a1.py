"""how many links an owner has in each block of ids

Revision ID: 7e4b09c2d5a1
Revises: 5d1c83e7a0f4
"""

import sqlalchemy as sa
from alembic import op

revision = "7e4b09c2d5a1"
down_revision = "5d1c83e7a0f4"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# where a later migration makes the table `link` anew on SQLite, `keep_triggers` makes these anew, too
ADD = """INSERT INTO link_block (user_id, block, size) VALUES (NEW.user_id, NEW.id >> 12, 1)
    ON CONFLICT (user_id, block) DO UPDATE SET size = link_block.size + 1;"""
REMOVE = """UPDATE link_block SET size = size - 1 WHERE user_id = OLD.user_id AND block = OLD.id >> 12;
    DELETE FROM link_block WHERE user_id = OLD.user_id AND block = OLD.id >> 12 AND size < 1;"""
SQLITE = (
    f"CREATE TRIGGER link_block_insert AFTER INSERT ON link BEGIN {ADD} END",
    f"CREATE TRIGGER link_block_delete AFTER DELETE ON link BEGIN {REMOVE} END",
    f"CREATE TRIGGER link_block_update AFTER UPDATE OF user_id ON link BEGIN {REMOVE} {ADD} END",
)
POSTGRESQL = (
    f"""CREATE FUNCTION count_link_in_block() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP <> 'INSERT' THEN {REMOVE} END IF;
        IF TG_OP <> 'DELETE' THEN {ADD} END IF;
        RETURN NULL;
    END $$""",
    """CREATE TRIGGER link_block AFTER INSERT OR DELETE OR UPDATE OF user_id ON link
    FOR EACH ROW EXECUTE FUNCTION count_link_in_block()""",
)
FILL = "INSERT INTO link_block SELECT user_id, id >> 12, count(*) FROM link GROUP BY 1, 2"


def upgrade() -> None:
    op.create_table(
        "link_block",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("block", ID, autoincrement=False, nullable=False),
        sa.Column("size", sa.Integer(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "block", name=op.f("pk_link_block")),
    )
    op.execute(FILL)
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for name in ("insert", "delete", "update"):
            op.execute(f"DROP TRIGGER link_block_{name}")
    else:
        op.execute("DROP TRIGGER link_block ON link")
        op.execute("DROP FUNCTION count_link_in_block")
    op.drop_table("link_block")
