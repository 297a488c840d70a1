"""workspaces: what is kept belongs to one, and users are its members

Each user gets a workspace with the same id. So the rows of clicks, their roll-ups and the journal, which know
whose they are by the id of a user, are the workspace's as they stand, and none of them is written anew.

Revision ID: 3f8a6d20c4e9
Revises: b7e41d09c3f2
"""

from collections.abc import Iterator
from contextlib import contextmanager

import sqlalchemy as sa
from alembic import op
from alembic.operations import BatchOperations

revision = "3f8a6d20c4e9"
down_revision = "b7e41d09c3f2"
branch_labels = None
depends_on = None
needs_restart = True  # the version before makes rows without a workspace

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# tables with both columns from now on, and the index that each has on the new one: columns, or none
TABLES = {
    "api_key": ["workspace_id"],
    "project": ["workspace_id"],
    "domain": ["workspace_id"],
    "pixel": ["workspace_id"],
    "notification_handler": ["workspace_id"],
    "link": ["workspace_id", "id"],
    "link_change": ["workspace_id"],
    "favicon": [],
    "saved_view": [],
    "statistics_share": ["workspace_id"],
    "trashed": ["workspace_id", "id"],
    "link_import": ["workspace_id", "id"],
    "imported_row": ["workspace_id", "digest"],
}
UNCOUNTED = ("api_key", "imported_row")  # whose ids SQLite may give again
KEPT = ("api_key",)  # whose index on `user_id` is still asked for
UNIQUE = {
    "favicon": (["user_id", "site"], ["workspace_id", "site"]),
    "saved_view": (["user_id", "key"], ["workspace_id", "user_id", "key"]),
}


def upgrade() -> None:
    make_tables()
    fill_workspaces()
    drop_triggers()
    for table, columns in TABLES.items():
        add_workspace(table)
        if columns:
            move_index(table, columns, "user_id", "workspace_id")
    for name in ("alias", "link_block"):
        op.execute(f"ALTER TABLE {name} RENAME COLUMN user_id TO workspace_id")
    move_index("alias", ["workspace_id"], "user_id", "workspace_id")
    make_triggers("workspace_id")


def make_tables() -> None:
    op.create_table(
        "workspace",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(128), nullable=False),
        sa.Column("deleted_datetime", sa.DateTime(), nullable=True),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspace")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_workspace_deleted_datetime"), "workspace", ["deleted_datetime"])
    op.create_table(
        "workspace_member",
        sa.Column("id", ID, nullable=False),
        reference("workspace_member", "workspace"),
        reference("workspace_member", "user"),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspace_member")),
        sa.UniqueConstraint("workspace_id", "user_id", name=op.f("uq_workspace_member_workspace_id_user_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_workspace_member_user_id"), "workspace_member", ["user_id"])
    op.create_table(
        "workspace_invitation",
        sa.Column("id", ID, nullable=False),
        reference("workspace_invitation", "workspace"),
        reference("workspace_invitation", "user"),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("email", sa.String(320), nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspace_invitation")),
        sa.UniqueConstraint("digest", name=op.f("uq_workspace_invitation_digest")),
    )
    op.create_index(op.f("ix_workspace_invitation_workspace_id"), "workspace_invitation", ["workspace_id"])


def reference(table: str, target: str) -> sa.Column:
    name = op.f(f"fk_{table}_{target}_id_{target}")
    return sa.Column(
        f"{target}_id", ID, sa.ForeignKey(f"{target}.id", name=name, ondelete="CASCADE"), nullable=False
    )


def fill_workspaces() -> None:
    """A workspace for each user, under the user's id. Later ones get ids that no user ever had until now."""
    op.execute(
        """INSERT INTO workspace (id, name, deleted_datetime, datetime)
        SELECT id, CASE WHEN name <> '' THEN name ELSE substr(email, 1, 128) END, deleted_datetime, datetime
        FROM "user" ORDER BY id"""
    )
    op.execute(
        """INSERT INTO workspace_member (workspace_id, user_id, role, datetime)
        SELECT id, id, 'owner', datetime FROM "user" ORDER BY id"""
    )
    if is_sqlite():
        op.execute("DELETE FROM sqlite_sequence WHERE name = 'workspace'")
        op.execute(
            "INSERT INTO sqlite_sequence (name, seq)"
            " SELECT 'workspace', coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'user'), 0)"
        )
    else:
        op.execute("SELECT setval('workspace_id_seq', last_value, is_called) FROM user_id_seq")


def add_workspace(table: str) -> None:
    name = f"fk_{table}_workspace_id_workspace"
    op.execute(f"ALTER TABLE {table} ADD COLUMN workspace_id {'INTEGER' if is_sqlite() else 'BIGINT'}")
    op.execute(f"UPDATE {table} SET workspace_id = user_id")
    with made_anew(table) as batch:
        batch.alter_column("workspace_id", existing_type=ID, nullable=False)
        batch.create_foreign_key(op.f(name), "workspace", ["workspace_id"], ["id"], ondelete="CASCADE")
        if table in UNIQUE:
            change_unique(batch, table, *UNIQUE[table])


@contextmanager
def made_anew(table: str) -> Iterator[BatchOperations]:
    """Changes a table, which SQLite makes anew: without what a partial index leaves out, and with the newest id
    forgotten. Both are put back."""
    partial, newest = [], None
    if is_sqlite():
        found = sa.text(
            "SELECT sql FROM sqlite_master WHERE tbl_name = :name AND sql LIKE 'CREATE%INDEX%WHERE%'"
        )
        partial = list(op.get_bind().scalars(found.bindparams(name=table)))
        for statement in partial:
            op.execute(f"DROP INDEX {statement.split(' ON ')[0].split()[-1]}")
        found = sa.text("SELECT seq FROM sqlite_sequence WHERE name = :name")
        newest = op.get_bind().scalar(found.bindparams(name=table))
    is_counted = is_sqlite() and table not in UNCOUNTED
    with op.batch_alter_table(
        table, table_kwargs={"sqlite_autoincrement": True} if is_counted else {}
    ) as batch:
        yield batch
    for statement in partial:
        op.execute(statement)
    if newest is not None:
        op.execute(sa.text("DELETE FROM sqlite_sequence WHERE name = :name").bindparams(name=table))
        kept = sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :seq)")
        op.execute(kept.bindparams(name=table, seq=newest))


def move_index(table: str, columns: list[str], old: str, new: str) -> None:
    before = [old if column == new else column for column in columns]
    if table not in KEPT:
        op.drop_index(f"ix_{table}_{'_'.join(before)}", table)
    op.create_index(op.f(f"ix_{table}_{'_'.join(columns)}"), table, columns, unique=table == "imported_row")


def change_unique(batch: BatchOperations, table: str, before: list[str], after: list[str]) -> None:
    batch.drop_constraint(f"uq_{table}_{'_'.join(before)}", type_="unique")
    batch.create_unique_constraint(op.f(f"uq_{table}_{'_'.join(after)}"), after)


def drop_triggers() -> None:
    if is_sqlite():
        for name in ("insert", "delete", "update"):
            op.execute(f"DROP TRIGGER link_block_{name}")
    else:
        op.execute("DROP TRIGGER link_block ON link")
        op.execute("DROP FUNCTION count_link_in_block")


def make_triggers(key: str) -> None:
    """What keeps `link_block`, by this column. A later migration that makes `link` anew makes these anew, too."""
    add = f"""INSERT INTO link_block ({key}, block, size) VALUES (NEW.{key}, NEW.id >> 12, 1)
        ON CONFLICT ({key}, block) DO UPDATE SET size = link_block.size + 1;"""
    mine = f"{key} = OLD.{key} AND block = OLD.id >> 12"
    remove = f"""UPDATE link_block SET size = size - 1 WHERE {mine};
        DELETE FROM link_block WHERE {mine} AND size < 1;"""
    if is_sqlite():
        op.execute(f"CREATE TRIGGER link_block_insert AFTER INSERT ON link BEGIN {add} END")
        op.execute(f"CREATE TRIGGER link_block_delete AFTER DELETE ON link BEGIN {remove} END")
        op.execute(f"CREATE TRIGGER link_block_update AFTER UPDATE OF {key} ON link BEGIN {remove} {add} END")
        return
    op.execute(
        f"""CREATE FUNCTION count_link_in_block() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP <> 'INSERT' THEN {remove} END IF;
            IF TG_OP <> 'DELETE' THEN {add} END IF;
            RETURN NULL;
        END $$"""
    )
    op.execute(
        f"""CREATE TRIGGER link_block AFTER INSERT OR DELETE OR UPDATE OF {key} ON link
        FOR EACH ROW EXECUTE FUNCTION count_link_in_block()"""
    )


def is_sqlite() -> bool:
    return bool(op.get_bind().dialect.name == "sqlite")


def downgrade() -> None:
    """Back to rows of users: each row goes to who made it, a held alias to an owner of its workspace."""
    drop_triggers()
    for table, columns in TABLES.items():
        if columns:
            op.drop_index(f"ix_{table}_{'_'.join(columns)}", table)
            before = ["user_id" if column == "workspace_id" else column for column in columns]
            if table not in KEPT:
                op.create_index(
                    f"ix_{table}_{'_'.join(before)}", table, before, unique=table == "imported_row"
                )
        with made_anew(table) as batch:
            if table in UNIQUE:
                change_unique(batch, table, *reversed(UNIQUE[table]))
            batch.drop_constraint(f"fk_{table}_workspace_id_workspace", type_="foreignkey")
            batch.drop_column("workspace_id")
    for name in ("alias", "link_block"):
        op.execute(f"ALTER TABLE {name} RENAME COLUMN workspace_id TO user_id")
    move_index("alias", ["user_id"], "workspace_id", "user_id")
    op.execute(
        """UPDATE alias SET user_id = coalesce((SELECT user_id FROM link WHERE link.id = alias.link_id),
        (SELECT min(user_id) FROM workspace_member AS one WHERE one.workspace_id = alias.user_id AND role = 'owner'),
        alias.user_id)"""
    )
    op.execute("DELETE FROM link_block")
    op.execute("INSERT INTO link_block SELECT user_id, id >> 12, count(*) FROM link GROUP BY 1, 2")
    make_triggers("user_id")
    for name in ("workspace_invitation", "workspace_member", "workspace"):
        op.drop_table(name)
