"""bitmaps of what filters find in long lists of links, and the blocks whose bitmaps are stale

Revision ID: 2c9f41a7e6d3
Revises: 8a3e5d07c1f4
"""

import sqlalchemy as sa
from alembic import op

revision = "2c9f41a7e6d3"
down_revision = "8a3e5d07c1f4"
branch_labels = None
depends_on = None
needs_restart = False  # the version before neither reads nor writes the new tables; its changes mark blocks

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# what bitmaps are made of, of a link and of the tables that belong to one
COLUMNS = (
    *("id", "workspace_id", "is_enabled", "project_id", "domain_id", "targeting_type", "schedule"),
    *("start_date", "end_date", "clicks_limit", "clicks_limit_confirmation_is_enabled", "sensitive_content"),
    *("app_linking_is_enabled", "cloaking_is_enabled", "password_hash", "datetime", "last_datetime", "url"),
    *("location_url", "search_text", "search_notes"),
)
OF_LINKS = ("link_tag", "link_pixel", "link_notification_handler")

# when a destination begins to fail, or no longer does; not after each of its checks
FAILING_OF_SQLITE = {
    "INSERT": ("NEW", "NEW.failing_since IS NOT NULL"),
    "DELETE": ("OLD", "OLD.failing_since IS NOT NULL"),
    "UPDATE OF failing_since, url": (
        "NEW",
        "OLD.failing_since IS NOT NEW.failing_since OR OLD.url IS NOT NEW.url",
    ),
}


def mark_on_sqlite(rows: str) -> str:
    """Marks each block at most once, unless its workspace is just being deleted. The mark is a new one each
    time: the worker may just be reading."""
    marked = f"(workspace_id, block) IN (SELECT {rows})"
    return (
        f"DELETE FROM stale_bitmap WHERE {marked}; INSERT INTO stale_bitmap (workspace_id, block) SELECT {rows};"
    )


def triggers_of_sqlite() -> dict[str, str]:
    """The statements by the names of the triggers."""
    old, new = (
        mark_on_sqlite(f"id, {row}.id >> 12 FROM workspace WHERE id = {row}.workspace_id")
        for row in ("OLD", "NEW")
    )
    found = {
        "stale_bitmap_insert": f"AFTER INSERT ON link BEGIN {new} END",
        "stale_bitmap_delete": f"AFTER DELETE ON link BEGIN {old} END",
        "stale_bitmap_update": f"AFTER UPDATE OF {', '.join(COLUMNS)} ON link BEGIN {old} {new} END",
    }
    for table in OF_LINKS:
        for event, row in (("insert", "NEW"), ("delete", "OLD")):
            mark = mark_on_sqlite(f"workspace_id, id >> 12 FROM link WHERE id = {row}.link_id")
            found[f"stale_bitmap_{table}_{event}"] = f"AFTER {event.upper()} ON {table} BEGIN {mark} END"
    for event, (row, condition) in FAILING_OF_SQLITE.items():
        mark = mark_on_sqlite(f"workspace_id, id >> 12 FROM link WHERE id = {row}.link_id")
        found[f"stale_bitmap_check_{event.partition(' ')[0].lower()}"] = (
            f"AFTER {event} ON destination_check WHEN {condition} BEGIN {mark} END"
        )
    return {name: f"CREATE TRIGGER {name} {rest}" for name, rest in found.items()}


# PostgreSQL marks once for each statement, and only adds: so no transaction waits for another one's mark
MARK = "INSERT INTO stale_bitmap (workspace_id, block) SELECT DISTINCT workspace_id, id >> 12 FROM"
VALUES = {row: ", ".join(f"{row}.{name}" for name in COLUMNS) for row in ("before", "after")}
FUNCTIONS = {
    "mark_stale_bitmaps": f"{MARK} changed WHERE workspace_id IN (SELECT id FROM workspace);",
    "mark_stale_bitmaps_of_changed": f"""{MARK} (
        SELECT unnest(ARRAY[before.workspace_id, after.workspace_id]) AS workspace_id, id
        FROM old_rows AS before JOIN new_rows AS after USING (id)
        WHERE ({VALUES["before"]}) IS DISTINCT FROM ({VALUES["after"]})) AS changed;""",
    "mark_stale_bitmaps_of_links": f"{MARK} link WHERE id IN (SELECT link_id FROM changed);",
    "mark_stale_bitmaps_of_checks": f"""{MARK} link
        WHERE id IN (SELECT link_id FROM changed WHERE failing_since IS NOT NULL);""",
    "mark_stale_bitmaps_of_changed_checks": f"""{MARK} link WHERE id IN (
        SELECT after.link_id FROM old_rows AS before JOIN new_rows AS after USING (id)
        WHERE (before.failing_since, before.url) IS DISTINCT FROM (after.failing_since, after.url));""",
}
MARK_OF = {
    "link": "mark_stale_bitmaps",
    **dict.fromkeys(OF_LINKS, "mark_stale_bitmaps_of_links"),
    "destination_check": "mark_stale_bitmaps_of_checks",
}
MARK_OF_CHANGED = {
    "link": "mark_stale_bitmaps_of_changed",
    "destination_check": "mark_stale_bitmaps_of_changed_checks",
}


def statements_of_postgresql() -> list[str]:
    found = [
        f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$"
        for name, body in FUNCTIONS.items()
    ]
    for table, mark in MARK_OF.items():
        for event, rows in (("INSERT", "NEW"), ("DELETE", "OLD")):
            found.append(
                f"CREATE TRIGGER stale_bitmap_{event.lower()} AFTER {event} ON {table} "
                f"REFERENCING {rows} TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION {mark}()"
            )
    found += [
        f"CREATE TRIGGER stale_bitmap_update AFTER UPDATE ON {table} "
        "REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows "
        f"FOR EACH STATEMENT EXECUTE FUNCTION {mark}()"
        for table, mark in MARK_OF_CHANGED.items()
    ]
    return found


def upgrade() -> None:
    op.create_table(
        "link_bitmap",
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("block", ID, autoincrement=False, nullable=False),
        sa.Column("bits", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_link_bitmap_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("workspace_id", "name", "block", name=op.f("pk_link_bitmap")),
    )
    op.create_index(op.f("ix_link_bitmap_workspace_id_block"), "link_bitmap", ["workspace_id", "block"])
    op.create_table(
        "stale_bitmap",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("block", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_stale_bitmap_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_stale_bitmap")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_stale_bitmap_workspace_id_block"), "stale_bitmap", ["workspace_id", "block"])
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    if not is_sqlite:  # compressed, a page by clicks would take 60 ms more of 16,000,000 links
        op.execute("ALTER TABLE link_bitmap ALTER COLUMN bits SET STORAGE EXTERNAL")
    for statement in triggers_of_sqlite().values() if is_sqlite else statements_of_postgresql():
        op.execute(statement)


def downgrade() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for name in triggers_of_sqlite():
            op.execute(f"DROP TRIGGER {name}")
    else:
        for table in MARK_OF:
            for event in ("insert", "delete", *(["update"] if table in MARK_OF_CHANGED else [])):
                op.execute(f"DROP TRIGGER stale_bitmap_{event} ON {table}")
        for name in FUNCTIONS:
            op.execute(f"DROP FUNCTION {name}")
    op.drop_table("stale_bitmap")
    op.drop_table("link_bitmap")
