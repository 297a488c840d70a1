"""lists of links by plain indexes, a full-text index, and copies of the clicks to order by

Revision ID: 3d7c0f92b8e4
Revises: 9d4c7a1e52b6
"""

import sqlalchemy as sa
from alembic import op

revision = "3d7c0f92b8e4"
down_revision = "9d4c7a1e52b6"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")

# ------------------------------------------------------------- what goes: counts and bitmaps of blocks of links
OLD_INDEXES = (
    *(f"ix_link_workspace_id_{order}_id" for order in ("url", "datetime", "last_datetime")),
    "ix_link_filtered",
)
OLD_TRIGGERS = (
    *(f"link_block_{event}" for event in ("insert", "delete", "update")),
    *(f"stale_bitmap_{event}" for event in ("insert", "delete", "update")),
    *(f"stale_bitmap_check_{event}" for event in ("insert", "delete", "update")),
    *(
        f"stale_bitmap_{table}_{event}"
        for table in ("link_tag", "link_pixel", "link_notification_handler")
        for event in ("insert", "delete")
    ),
)
OLD_FUNCTIONS = (
    "count_link_in_block",
    *("mark_stale_bitmaps", "mark_stale_bitmaps_of_changed", "mark_stale_bitmaps_of_links"),
    *("mark_stale_bitmaps_of_checks", "mark_stale_bitmaps_of_changed_checks"),
)
OLD_TABLES = ("link_block", "link_bitmap", "stale_bitmap")

# ---------------------------------------------------------------------------------------------- what comes
FILTERED = (
    *("is_enabled", "project_id", "domain_id", "targeting_type", "schedule", "start_date", "end_date"),
    *("clicks_limit", "clicks_limit_confirmation_is_enabled", "sensitive_content"),
    *("app_linking_is_enabled", "cloaking_is_enabled"),
)
INDEXES = {
    "url": ("workspace_id", "url", "id", *FILTERED, "datetime"),
    "datetime": ("workspace_id", "datetime", "id", *FILTERED),
    "last_datetime": ("workspace_id", "last_datetime", "id", *FILTERED, "datetime"),
    "id": ("workspace_id", "id", *FILTERED, "datetime"),
}
NULLS_FIRST = {"last_datetime": "NULLS FIRST"}  # as lists have them; SQLite always does
PASSWORD = sa.text("password_hash IS NOT NULL")

# a link's clicks to order by, beside copies of what lists filter by: the row comes and changes with the link, and
# goes with it by its foreign key. The worker copies the journal's counters, which are in another file on SQLite
COPIED = ("workspace_id", *FILTERED, "datetime")
COPIED_TYPES = dict.fromkeys(COPIED[1:], sa.Boolean()) | {
    **{"project_id": ID, "domain_id": ID, "targeting_type": sa.String(32), "clicks_limit": sa.Integer()},
    **dict.fromkeys(("start_date", "end_date", "datetime"), sa.DateTime()),
}
NULLABLE = {"project_id", "domain_id", "targeting_type", "clicks_limit", "start_date", "end_date"}
ADD = f"""INSERT INTO link_clicks (link_id, clicks, {", ".join(COPIED)})
    VALUES (NEW.id, 0, {", ".join(f"NEW.{name}" for name in COPIED)});"""
CHANGE = f"""UPDATE link_clicks SET {", ".join(f"{name} = NEW.{name}" for name in COPIED)}
    WHERE link_id = NEW.id;"""
COUNT = "UPDATE link_clicks SET clicks = clicks + NEW.clicks WHERE link_id = NEW.link_id;"
COUNT_ON = "UPDATE link_clicks SET clicks = clicks + NEW.clicks - OLD.clicks WHERE link_id = NEW.link_id;"
TRIGGERS = {
    "link_clicks_insert": ("INSERT ON link", ADD),
    "link_clicks_update": (f"UPDATE OF {', '.join(COPIED)} ON link", CHANGE),
    "link_clicks_limit_insert": ("INSERT ON limit_counter", COUNT),
    "link_clicks_limit_update": ("UPDATE OF clicks ON limit_counter", COUNT_ON),
}
FILL = f"""
    INSERT INTO link_clicks (link_id, clicks, {", ".join(COPIED)})
    SELECT link.id, coalesce(counted.clicks, 0) + coalesce(limited.clicks, 0),
        {", ".join(f"link.{name}" for name in COPIED)} FROM link
    LEFT JOIN clicks.counter AS counted ON counted.link_id = link.id
    LEFT JOIN limit_counter AS limited ON limited.link_id = link.id
"""

# SQLite's full-text index has the texts' parts of three letters, and reads the texts themselves from the links
SEARCH = """
    CREATE VIRTUAL TABLE link_search USING fts5(
        search_text, search_notes, content='link', content_rowid='id', columnsize=0,
        tokenize='trigram case_sensitive 1'
    )
"""
TEXTS = "search_text, search_notes"
INDEX = f"INSERT INTO link_search (rowid, {TEXTS}) VALUES (NEW.id, NEW.search_text, NEW.search_notes);"
FORGET = f"""INSERT INTO link_search (link_search, rowid, {TEXTS})
    VALUES ('delete', OLD.id, OLD.search_text, OLD.search_notes);"""
SEARCH_TRIGGERS = {
    "link_search_insert": ("INSERT ON link", INDEX),
    "link_search_delete": ("DELETE ON link", FORGET),
    "link_search_update": (
        f"""UPDATE OF {TEXTS} ON link
        WHEN OLD.search_text IS NOT NEW.search_text OR OLD.search_notes IS NOT NEW.search_notes""",
        f"{FORGET} {INDEX}",
    ),
}
# PostgreSQL's; where the extension can't be made, a search reads all links, and `waypost doctor` says so
TRIGRAMS = "CREATE EXTENSION IF NOT EXISTS pg_trgm"
TRIGRAM_INDEX = "CREATE INDEX ix_link_search ON link USING gin (search_text gin_trgm_ops, search_notes gin_trgm_ops)"


def upgrade() -> None:
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    remove_blocks(is_sqlite)
    for name, columns in INDEXES.items():
        op.create_index(f"ix_link_by_{name}", "link", list(columns), postgresql_ops=NULLS_FIRST)
    op.create_index(
        "ix_link_password", "link", ["workspace_id", "id"], sqlite_where=PASSWORD, postgresql_where=PASSWORD
    )
    op.create_table(
        "link_clicks",
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("clicks", ID, nullable=False),
        *(sa.Column(name, kind, nullable=name in NULLABLE) for name, kind in COPIED_TYPES.items()),
        sa.ForeignKeyConstraint(
            ["link_id"], ["link.id"], name=op.f("fk_link_clicks_link_id_link"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("link_id", name=op.f("pk_link_clicks")),
    )
    op.execute(FILL)
    by_clicks = ["workspace_id", "clicks", "link_id", *FILTERED, "datetime"]
    op.create_index("ix_link_clicks_by_clicks", "link_clicks", by_clicks)
    if is_sqlite:
        op.execute(SEARCH)
        op.execute("INSERT INTO link_search (link_search) VALUES ('rebuild')")
        for name, (event, body) in (TRIGGERS | SEARCH_TRIGGERS).items():
            op.execute(f"CREATE TRIGGER {name} AFTER {event} BEGIN {body} END")
        return
    for name, (event, body) in TRIGGERS.items():
        op.execute(
            f"CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN {body} RETURN NULL; END $$"
        )
        op.execute(f"CREATE TRIGGER {name} AFTER {event} FOR EACH ROW EXECUTE FUNCTION {name}()")
    index_trigrams()


def remove_blocks(is_sqlite: bool) -> None:
    if is_sqlite:
        for name in OLD_TRIGGERS:
            op.execute(f"DROP TRIGGER IF EXISTS {name}")
    else:
        for name in OLD_FUNCTIONS:
            op.execute(f"DROP FUNCTION IF EXISTS {name}() CASCADE")  # with their triggers
    for name in OLD_TABLES:
        op.execute(f"DROP TABLE IF EXISTS {name}")
    for name in OLD_INDEXES:
        op.execute(f"DROP INDEX IF EXISTS {name}")


def index_trigrams() -> None:
    connection = op.get_bind()
    try:
        with connection.begin_nested():
            connection.execute(sa.text(TRIGRAMS))
            connection.execute(sa.text(TRIGRAM_INDEX))
    except sa.exc.DBAPIError as error:
        print(f"Searches will read all links, for pg_trgm can't be used: {str(error.orig).strip()}")  # noqa: T201


def downgrade() -> None:
    """The version before makes bitmaps by itself; its triggers and counts of blocks do not come back."""
    is_sqlite = op.get_bind().dialect.name == "sqlite"
    for name in TRIGGERS | (SEARCH_TRIGGERS if is_sqlite else {}):
        op.execute(f"DROP TRIGGER {name}" if is_sqlite else f"DROP FUNCTION {name}() CASCADE")
    op.execute("DROP TABLE link_search" if is_sqlite else "DROP INDEX IF EXISTS ix_link_search")
    op.drop_table("link_clicks")
    for name in (*(f"by_{order}" for order in INDEXES), "password"):
        op.drop_index(f"ix_link_{name}", "link")
    for order in ("url", "datetime", "last_datetime"):
        columns = ["workspace_id", order, "id"]
        op.create_index(f"ix_link_workspace_id_{order}_id", "link", columns, postgresql_ops=NULLS_FIRST)
