"""rows of single clicks are partitioned by month on PostgreSQL

The table that is there becomes one partition for all that came until the end of this month. Its rows are
not copied: that takes one index over them and one look at them, whatever there are. It is dropped like any
other month, once its last row is beyond retention. All is done in one transaction. SQLite keeps its table.

Revision ID: e70b3d94a1f6
Revises: c2d8f5b17e94
"""

import datetime as dt

from alembic import op

revision = "e70b3d94a1f6"
down_revision = "c2d8f5b17e94"
branch_labels = None
depends_on = None

# room for new versions of rows beside the old ones spares the index; a fifth of a large table is long to wait for
STORAGE = {
    "counter": {"fillfactor": 80, "autovacuum_vacuum_scale_factor": 0.05},
    "seen": {"autovacuum_vacuum_scale_factor": 0.05},
}
INDEXES = {"ix_click_link_id_time_ms": "link_id, time_ms", "ix_click_user_id_time_ms": "user_id, time_ms"}


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    op.execute("LOCK TABLE clicks.click IN ACCESS EXCLUSIVE MODE")
    op.execute("ALTER TABLE clicks.click RENAME TO click_before")
    op.execute("ALTER TABLE clicks.click_before DROP CONSTRAINT pk_click")
    for name in INDEXES:
        op.execute(f"ALTER INDEX clicks.{name} RENAME TO {name.replace('click', 'click_before', 1)}")
    op.execute("CREATE TABLE clicks.click (LIKE clicks.click_before INCLUDING DEFAULTS) PARTITION BY RANGE (time_ms)")
    op.execute("ALTER SEQUENCE clicks.click_id_seq OWNED BY clicks.click.id")
    # a key of a partitioned table contains what it is partitioned by; ids alone come from one sequence
    op.execute("ALTER TABLE clicks.click ADD CONSTRAINT pk_click PRIMARY KEY (id, time_ms)")
    for name, columns in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON clicks.click ({columns})")
    op.execute("CREATE TABLE clicks.click_default PARTITION OF clicks.click DEFAULT")
    if op.get_bind().exec_driver_sql("SELECT EXISTS (SELECT FROM clicks.click_before)").scalar():
        attach_earlier(end_of_month())
    else:
        op.execute("DROP TABLE clicks.click_before")
    for table, values in STORAGE.items():
        op.execute(f"ALTER TABLE clicks.{table} SET ({', '.join(f'{name} = {each}' for name, each in values.items())})")


def attach_earlier(end: int) -> None:
    op.execute(
        f"WITH moved AS (DELETE FROM clicks.click_before WHERE time_ms >= {end} RETURNING *)"
        " INSERT INTO clicks.click_default SELECT * FROM moved"
    )
    op.execute(
        f"ALTER TABLE clicks.click ATTACH PARTITION clicks.click_before FOR VALUES FROM (MINVALUE) TO ({end})"
    )


def end_of_month() -> int:
    """The first millisecond of the next month."""
    month = dt.datetime.now(dt.UTC).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
    following = (month + dt.timedelta(days=31)).replace(day=1)
    return int(following.timestamp()) * 1000


def downgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table, values in STORAGE.items():
        op.execute(f"ALTER TABLE clicks.{table} RESET ({', '.join(values)})")
    op.execute("LOCK TABLE clicks.click IN ACCESS EXCLUSIVE MODE")
    op.execute("CREATE TABLE clicks.click_plain (LIKE clicks.click INCLUDING DEFAULTS)")
    op.execute("INSERT INTO clicks.click_plain SELECT * FROM clicks.click")
    op.execute("ALTER SEQUENCE clicks.click_id_seq OWNED BY clicks.click_plain.id")
    op.execute("DROP TABLE clicks.click")
    op.execute("ALTER TABLE clicks.click_plain RENAME TO click")
    op.execute("ALTER TABLE clicks.click ADD CONSTRAINT pk_click PRIMARY KEY (id)")
    for name, columns in INDEXES.items():
        op.execute(f"CREATE INDEX {name} ON clicks.click ({columns})")
