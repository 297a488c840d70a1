"""first tables, as of 29 November 2026

Revision ID: 9d4c7a1e52b6
Revises:
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "9d4c7a1e52b6"
down_revision = None
branch_labels = None
depends_on = None
# revisions that led here, none of them released: a database at one of them can't go on from here
replaces = {
    "1c6f0a93d8e4",
    "2c9f41a7e6d3",
    "2d84b6f0c7e9",
    "2e7a9c1f5b60",
    "3b9f60d8e2a1",
    "3f1c9a4e7b20",
    "3f8a6d20c4e9",
    "4b1f7e0c9a35",
    "4c8e1f60d2a9",
    "4d7b1e90c2a8",
    "4d8e2b71c6f0",
    "4f8b2d6a1c93",
    "5b8d1e7f3a90",
    "5b8e2d61f0c9",
    "5d1c83e7a0f4",
    "5d20e8b7c913",
    "5f2ac07d91e3",
    "6c1d93e7f5b8",
    "6c1e9a40d7b2",
    "6c2f84a1d7e5",
    "6c2f9e81b4d7",
    "7c3d9e15a4b8",
    "7d55e570bc37",
    "7e1a9c4d3b60",
    "7e2c94d1b8a6",
    "7e4b09c2d5a1",
    "7e4c1a90b2d6",
    "8a3e5d07c1f4",
    "8b6d04f1c2a7",
    "8e1d5a72c4f6",
    "9c41e7d05ab2",
    "9d3b7a52e6c1",
    "9e2b7c41d5f3",
    "a41c7e90d2b6",
    "a4e17c93d05b",
    "a90c3e51d7f2",
    "b5d20e73c9a4",
    "b7c4e1f0a935",
    "b7d2c64e19f5",
    "b7d2e4a91c05",
    "b7e41d09c3f2",
    "b94e07d2c6a1",
    "c2d8f5b17e94",
    "c41d9e07a6b3",
    "c5a7e2f81d46",
    "c5e80b4f2a16",
    "c8d5f2a1b046",
    "d3f0a6c82b17",
    "d4e81b6a3c07",
    "d7f20b9c4e13",
    "d81f4c62b07e",
    "e1a4c7093b5d",
    "e3a9f5c0712d",
    "e6a93d17f0b8",
    "e70b3d94a1f6",
    "f3a86b0d214c",
    "fdfaa24d7ef5",
}

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
# PostgreSQL keeps a partition for each month, and a key contains what its table is partitioned by
CLICK_KEY = {"sqlite": ("id",), "postgresql": ("id", "time_ms")}
TRIGGERS = {
    "sqlite": (
        """CREATE TRIGGER audit_entry_no_update BEFORE UPDATE ON audit_entry
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END""",
        # moments are texts that sort, and the seconds of `datetime()` sort before those with a fraction
        """CREATE TRIGGER audit_entry_no_delete BEFORE DELETE ON audit_entry
        WHEN OLD.datetime >=
            datetime('now', '-' || coalesce((SELECT days FROM audit_retention), 365) || ' days')
        BEGIN SELECT RAISE(ABORT, 'the audit log is append-only'); END""",
    ),
    "postgresql": (
        """CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF TG_OP = 'DELETE' THEN
                IF OLD.datetime < (now() AT TIME ZONE 'utc') - make_interval(
                    days => coalesce((SELECT days FROM audit_retention), 365)
                ) THEN
                    RETURN OLD;
                END IF;
            END IF;
            RAISE EXCEPTION 'the audit log is append-only';
        END $$""",
        """CREATE TRIGGER audit_entry_no_change BEFORE UPDATE OR DELETE ON audit_entry
        FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()""",
        """CREATE TRIGGER audit_entry_no_truncate BEFORE TRUNCATE ON audit_entry
        FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()""",
    ),
}


def upgrade() -> None:
    dialect = op.get_bind().dialect.name
    # what a crash of PostgreSQL may forget
    unlogged = ["UNLOGGED"] if dialect == "postgresql" else []
    op.create_table(
        "audit_entry",
        sa.Column("id", ID, nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.Column("action", sa.String(length=48), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("account_id", ID, nullable=True),
        sa.Column("account_email", sa.String(length=320), nullable=False),
        sa.Column("workspace_id", ID, nullable=True),
        sa.Column("actor_id", ID, nullable=True),
        sa.Column("actor_email", sa.String(length=320), nullable=False),
        sa.Column("actor_way", sa.String(length=16), nullable=False),
        sa.Column("actor_name", sa.String(length=320), nullable=False),
        sa.Column("key_prefix", sa.String(length=11), nullable=False),
        sa.Column("object_type", sa.String(length=48), nullable=False),
        sa.Column("object_id", ID, nullable=True),
        sa.Column("object_name", sa.String(length=256), nullable=False),
        sa.Column("changes", sa.JSON(), nullable=False),
        sa.Column("network", sa.String(length=43), nullable=False),
        sa.Column("request_id", sa.String(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_audit_entry_account_id_id"), "audit_entry", ["account_id", "id"], unique=False)
    op.create_index(op.f("ix_audit_entry_actor_id_id"), "audit_entry", ["actor_id", "id"], unique=False)
    op.create_index(op.f("ix_audit_entry_datetime"), "audit_entry", ["datetime"], unique=False)
    op.create_index(
        op.f("ix_audit_entry_workspace_id_id"), "audit_entry", ["workspace_id", "id"], unique=False
    )
    op.create_table(
        "audit_retention",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("days", sa.Integer(), nullable=False),
        sa.CheckConstraint("days >= 30", name=op.f("ck_audit_retention_at_least")),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_retention_one_row")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_retention")),
    )
    op.create_table(
        "backup_state",
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("since", sa.DateTime(), nullable=False),
        sa.Column("succeeded", sa.DateTime(), nullable=True),
        sa.Column("name", sa.String(length=1024), nullable=False),
        sa.Column("size", sa.BigInteger(), nullable=False),
        sa.Column("seconds", sa.Integer(), nullable=False),
        sa.Column("failed", sa.DateTime(), nullable=True),
        sa.Column("reason", sa.String(length=500), nullable=False),
        sa.Column("told", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("kind", name=op.f("pk_backup_state")),
    )
    op.create_table(
        "agent",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("device_type_id", ID, nullable=True),
        sa.Column("os_name_id", ID, nullable=True),
        sa.Column("browser_name_id", ID, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_agent")),
        schema="clicks",
    )
    op.create_table(
        "click",
        sa.Column("id", ID, autoincrement=True, nullable=False),
        sa.Column("time_ms", ID, nullable=False),
        sa.Column("link_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("is_bot", sa.Boolean(), nullable=False),
        sa.Column("visitor", sa.String(length=16), nullable=True),
        sa.Column("bot_name_id", ID, nullable=True),
        sa.Column("country_code_id", ID, nullable=True),
        sa.Column("continent_code_id", ID, nullable=True),
        sa.Column("city_name_id", ID, nullable=True),
        sa.Column("agent_id", ID, nullable=True),
        sa.Column("language_id", ID, nullable=True),
        sa.Column("referrer_host_id", ID, nullable=True),
        sa.Column("referrer_path_id", ID, nullable=True),
        sa.Column("utm_source_id", ID, nullable=True),
        sa.Column("utm_medium_id", ID, nullable=True),
        sa.Column("utm_campaign_id", ID, nullable=True),
        sa.Column("destination_id", ID, nullable=True),
        sa.PrimaryKeyConstraint(*CLICK_KEY[dialect], name=op.f("pk_click")),
        schema="clicks",
        postgresql_partition_by="RANGE (time_ms)",
    )
    op.create_index(
        op.f("ix_click_link_id_time_ms"), "click", ["link_id", "time_ms"], unique=False, schema="clicks"
    )
    op.create_index(
        op.f("ix_click_user_id_time_ms"), "click", ["user_id", "time_ms"], unique=False, schema="clicks"
    )
    op.create_table(
        "counter",
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("clicks", ID, nullable=False),
        sa.PrimaryKeyConstraint("link_id", name=op.f("pk_counter")),
        schema="clicks",
        postgresql_with={"fillfactor": 80, "autovacuum_vacuum_scale_factor": 0.05},
    )
    op.create_table(
        "event_counter",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("position", ID, nullable=False),
        sa.Column("horizon", ID, nullable=False),
        sa.Column("click_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_counter")),
        schema="clicks",
    )
    op.create_table(
        "event_entry",
        sa.Column("position", ID, autoincrement=False, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("type", sa.String(length=48), nullable=False),
        sa.Column("day", ID, nullable=False),
        sa.Column("event_id", sa.String(length=32), nullable=True),
        sa.Column("link_id", ID, nullable=True),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("url_before", sa.String(length=1024), nullable=True),
        sa.Column("origin_before", sa.String(length=300), nullable=True),
        sa.Column("clicks", ID, nullable=True),
        sa.Column("first_id", ID, nullable=True),
        sa.Column("last_id", ID, nullable=True),
        sa.Column("first_ms", ID, nullable=True),
        sa.Column("last_ms", ID, nullable=True),
        sa.Column("link_ids", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("position", name=op.f("pk_event_entry")),
        sa.UniqueConstraint("event_id", name=op.f("uq_event_entry_event_id")),
        schema="clicks",
    )
    op.create_index(
        "ix_event_entry_link_id",
        "event_entry",
        ["link_id", "position"],
        unique=False,
        schema="clicks",
        sqlite_where=sa.text("link_id IS NOT NULL"),
        postgresql_where=sa.text("link_id IS NOT NULL"),
    )
    op.create_index(
        "ix_event_entry_moves",
        "event_entry",
        ["link_id", "position"],
        unique=False,
        schema="clicks",
        sqlite_where=sa.text("url_before IS NOT NULL"),
        postgresql_where=sa.text("url_before IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_event_entry_user_id_position"),
        "event_entry",
        ["user_id", "position"],
        unique=False,
        schema="clicks",
    )
    op.create_index(
        op.f("ix_event_entry_user_id_type_position"),
        "event_entry",
        ["user_id", "type", "position"],
        unique=False,
        schema="clicks",
    )
    op.create_table(
        "finished_segment",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("nanoseconds", ID, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_finished_segment")),
        schema="clicks",
    )
    op.create_index(
        op.f("ix_finished_segment_nanoseconds"),
        "finished_segment",
        ["nanoseconds"],
        unique=False,
        schema="clicks",
    )
    op.create_table(
        "limited_taken",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_limited_taken")),
        schema="clicks",
    )
    op.create_table(
        "link_quarter",
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("is_bot", sa.Boolean(), nullable=False),
        sa.Column("quarter", ID, autoincrement=False, nullable=False),
        sa.Column("pageviews", ID, nullable=False),
        sa.Column("visitors", ID, nullable=False),
        sa.PrimaryKeyConstraint("link_id", "is_bot", "quarter", name=op.f("pk_link_quarter")),
        schema="clicks",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "link_value",
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("dimension", ID, autoincrement=False, nullable=False),
        sa.Column("is_bot", sa.Boolean(), nullable=False),
        sa.Column("day", ID, autoincrement=False, nullable=False),
        sa.Column("value_id", ID, autoincrement=False, nullable=False),
        sa.Column("path_id", ID, autoincrement=False, nullable=False),
        sa.Column("pageviews", ID, nullable=False),
        sa.Column("visitors", ID, nullable=False),
        sa.PrimaryKeyConstraint(
            "link_id", "dimension", "is_bot", "day", "value_id", "path_id", name=op.f("pk_link_value")
        ),
        schema="clicks",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "loss",
        sa.Column("reason", sa.String(length=32), nullable=False),
        sa.Column("lines", ID, nullable=False),
        sa.PrimaryKeyConstraint("reason", name=op.f("pk_loss")),
        schema="clicks",
    )
    op.create_table(
        "owner_day",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("day", ID, autoincrement=False, nullable=False),
        sa.Column("visits", ID, nullable=False),
        sa.Column("rolled", ID, nullable=True),
        sa.Column("is_pruned", sa.Boolean(), nullable=False),
        sa.PrimaryKeyConstraint("user_id", "day", name=op.f("pk_owner_day")),
        schema="clicks",
        sqlite_with_rowid=False,
    )
    op.create_index(
        "ix_owner_day_unrolled",
        "owner_day",
        ["day"],
        unique=False,
        schema="clicks",
        sqlite_where=sa.text("rolled IS NOT visits AND visits >= 200"),
        postgresql_where=sa.text("rolled IS DISTINCT FROM visits AND visits >= 200"),
    )
    op.create_index(
        "ix_owner_day_with_rows",
        "owner_day",
        ["day"],
        unique=False,
        schema="clicks",
        sqlite_where=sa.text("visits > 0"),
        postgresql_where=sa.text("visits > 0"),
    )
    op.create_table(
        "owner_link",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("is_bot", sa.Boolean(), nullable=False),
        sa.Column("day", ID, autoincrement=False, nullable=False),
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("at_most", ID, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "is_bot", "day", "link_id", name=op.f("pk_owner_link")),
        schema="clicks",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "owner_quarter",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("is_bot", sa.Boolean(), nullable=False),
        sa.Column("quarter", ID, autoincrement=False, nullable=False),
        sa.Column("pageviews", ID, nullable=False),
        sa.Column("visitors", ID, nullable=False),
        sa.PrimaryKeyConstraint("user_id", "is_bot", "quarter", name=op.f("pk_owner_quarter")),
        schema="clicks",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "owner_value",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("dimension", ID, autoincrement=False, nullable=False),
        sa.Column("is_bot", sa.Boolean(), nullable=False),
        sa.Column("day", ID, autoincrement=False, nullable=False),
        sa.Column("value_id", ID, autoincrement=False, nullable=False),
        sa.Column("path_id", ID, autoincrement=False, nullable=False),
        sa.Column("pageviews", ID, nullable=False),
        sa.Column("visitors", ID, nullable=False),
        sa.PrimaryKeyConstraint(
            "user_id", "dimension", "is_bot", "day", "value_id", "path_id", name=op.f("pk_owner_value")
        ),
        schema="clicks",
        sqlite_with_rowid=False,
    )
    op.create_table(
        "position",
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("counters_offset", ID, nullable=False),
        sa.Column("rows_offset", ID, nullable=False),
        sa.PrimaryKeyConstraint("name", name=op.f("pk_position")),
        schema="clicks",
    )
    op.create_table(
        "seen",
        sa.Column("day", ID, autoincrement=False, nullable=False),
        sa.Column("visitor", sa.String(length=16), nullable=False),
        sa.Column("scope", ID, autoincrement=False, nullable=False),
        sa.Column("quarter", ID, nullable=False),
        sa.PrimaryKeyConstraint("day", "visitor", "scope", name=op.f("pk_seen")),
        schema="clicks",
        postgresql_with={"autovacuum_vacuum_scale_factor": 0.05},
        sqlite_with_rowid=False,
    )
    op.create_table(
        "term",
        sa.Column("id", ID, nullable=False),
        sa.Column("digest", ID, nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_term")),
        sa.UniqueConstraint("digest", name=op.f("uq_term_digest")),
        schema="clicks",
    )
    op.create_table(
        "daily_salt",
        sa.Column("day", sa.Date(), nullable=False),
        sa.Column("salt", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("day", name=op.f("pk_daily_salt")),
        prefixes=unlogged,
    )
    op.create_table(
        "event",
        sa.Column("id", ID, nullable=False),
        sa.Column("type", sa.String(length=48), nullable=False),
        sa.Column("link_id", ID, nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "event_draft",
        sa.Column("id", ID, nullable=False),
        sa.Column("event_id", sa.String(length=32), nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("type", sa.String(length=48), nullable=False),
        sa.Column("link_id", ID, nullable=False),
        sa.Column("url", sa.String(length=1024), nullable=False),
        sa.Column("origin", sa.String(length=300), nullable=True),
        sa.Column("location_url", sa.Text(), nullable=False),
        sa.Column("url_before", sa.String(length=1024), nullable=False),
        sa.Column("origin_before", sa.String(length=300), nullable=True),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_draft")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_event_draft_link_id"), "event_draft", ["link_id"], unique=False)
    op.create_index(op.f("ix_event_draft_workspace_id"), "event_draft", ["workspace_id"], unique=False)
    op.create_table(
        "file_part",
        sa.Column("file", sa.String(length=64), nullable=False),
        sa.Column("number", ID, autoincrement=False, nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=False),
        sa.Column("is_last", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("file", "number", name=op.f("pk_file_part")),
    )
    op.create_table(
        "job",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("cron", sa.String(length=64), nullable=False),
        sa.Column("due", sa.DateTime(), nullable=True),
        sa.Column("planned", sa.DateTime(), nullable=False),
        sa.Column("lease", sa.DateTime(), nullable=True),
        sa.Column("who", sa.String(length=32), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_job")),
        sa.UniqueConstraint("name", name=op.f("uq_job_name")),
    )
    op.create_table(
        "key_record",
        sa.Column("id", ID, nullable=False),
        sa.Column("fingerprint", sa.String(length=16), nullable=False),
        sa.Column("verifiers", sa.Text(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.Column("retired_datetime", sa.DateTime(), nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_key_record")),
        sa.UniqueConstraint("fingerprint", name=op.f("uq_key_record_fingerprint")),
    )
    op.create_table(
        "limited_visit",
        sa.Column("id", ID, nullable=False),
        sa.Column("version", sa.String(length=8), nullable=False),
        sa.Column("line", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_limited_visit")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "oidc_used_value",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_oidc_used_value")),
    )
    op.create_index(
        op.f("ix_oidc_used_value_expires_datetime"), "oidc_used_value", ["expires_datetime"], unique=False
    )
    op.create_table(
        "password_request",
        sa.Column("id", ID, nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_password_request")),
    )
    op.create_table(
        "plan_change",
        sa.Column("id", ID, nullable=False),
        sa.Column("domain_id", ID, nullable=True),
        sa.Column("alias", sa.String(length=1024), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_plan_change")),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "rate_limit_count",
        sa.Column("key", sa.String(length=200), nullable=False),
        sa.Column("hits", sa.JSON().with_variant(postgresql.ARRAY(sa.Float()), "postgresql"), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("expires", sa.Float(), nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_rate_limit_count")),
        prefixes=unlogged,
    )
    op.create_index(op.f("ix_rate_limit_count_expires"), "rate_limit_count", ["expires"], unique=False)
    op.create_table(
        "redeemed_ticket",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_redeemed_ticket")),
    )
    op.create_index(
        op.f("ix_redeemed_ticket_expires_datetime"), "redeemed_ticket", ["expires_datetime"], unique=False
    )
    op.create_table(
        "stored_content",
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("object_name", sa.String(length=100), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_stored_content")),
    )
    op.create_table(
        "user",
        sa.Column("id", ID, nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("verified_email", sa.String(length=320), nullable=True),
        sa.Column("password_hash", sa.String(length=255), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("timezone", sa.String(length=64), nullable=False),
        sa.Column("language", sa.String(length=16), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("report_period", sa.String(length=16), nullable=False),
        sa.Column("report_hour", sa.Integer(), nullable=False),
        sa.Column("report_since", sa.DateTime(), nullable=False),
        sa.Column("checks_destinations", sa.Boolean(), nullable=False),
        sa.Column("fetches_favicons", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("disabled_datetime", sa.DateTime(), nullable=True),
        sa.Column("deleted_datetime", sa.DateTime(), nullable=True),
        sa.Column("seen_datetime", sa.DateTime(), nullable=True),
        sa.Column("session_version", sa.Integer(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user")),
        sa.UniqueConstraint("email", name=op.f("uq_user_email")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_user_deleted_datetime"), "user", ["deleted_datetime"], unique=False)
    op.create_table(
        "workspace",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("deleted_datetime", sa.DateTime(), nullable=True),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspace")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_workspace_deleted_datetime"), "workspace", ["deleted_datetime"], unique=False)
    op.create_table(
        "api_key",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("prefix", sa.String(length=11), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("scope", sa.String(length=8), nullable=False),
        sa.Column("changes_members", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=True),
        sa.Column("revoked_datetime", sa.DateTime(), nullable=True),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_api_key_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_api_key_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_api_key")),
        sa.UniqueConstraint("digest", name=op.f("uq_api_key_digest")),
    )
    op.create_index(op.f("ix_api_key_prefix"), "api_key", ["prefix"], unique=False)
    op.create_index(op.f("ix_api_key_user_id"), "api_key", ["user_id"], unique=False)
    op.create_index(op.f("ix_api_key_workspace_id"), "api_key", ["workspace_id"], unique=False)
    op.create_table(
        "archive",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=True),
        sa.Column("has_secrets", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("file", sa.String(length=64), nullable=False),
        sa.Column("site", sa.String(length=512), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("done", ID, nullable=False),
        sa.Column("total", ID, nullable=False),
        sa.Column("bytes", ID, nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("done_datetime", sa.DateTime(), nullable=True),
        sa.Column("who", sa.String(length=32), nullable=True),
        sa.Column("lease", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_archive_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_archive_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_archive")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_archive_state"), "archive", ["state"], unique=False)
    op.create_index(op.f("ix_archive_user_id"), "archive", ["user_id"], unique=True)
    op.create_table(
        "domain",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("host", sa.String(length=261), nullable=False),
        sa.Column("scheme", sa.String(length=8), nullable=False),
        sa.Column("custom_index_url", sa.String(length=8192), nullable=True),
        sa.Column("custom_not_found_url", sa.String(length=8192), nullable=True),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("is_verified", sa.Boolean(), nullable=False),
        sa.Column("token", sa.String(length=64), nullable=False),
        sa.Column("checked_datetime", sa.DateTime(), nullable=True),
        sa.Column("unproven_since", sa.DateTime(), nullable=True),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_domain_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_domain_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_domain")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_domain_workspace_id"), "domain", ["workspace_id"], unique=False)
    op.create_index(
        "uq_domain_verified_host",
        "domain",
        ["host"],
        unique=True,
        sqlite_where=sa.text("is_verified"),
        postgresql_where=sa.text("is_verified"),
    )
    op.create_table(
        "favicon",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("site", sa.String(length=300), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("content", sa.LargeBinary(), nullable=True),
        sa.Column("digest", sa.String(length=16), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.Column("due", sa.DateTime(), nullable=True),
        sa.Column("planned", sa.DateTime(), nullable=False),
        sa.Column("lease", sa.DateTime(), nullable=True),
        sa.Column("who", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_favicon_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_favicon_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_favicon")),
        sa.UniqueConstraint("workspace_id", "site", name=op.f("uq_favicon_workspace_id_site")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_favicon_due",
        "favicon",
        ["due"],
        unique=False,
        sqlite_where=sa.text("due IS NOT NULL"),
        postgresql_where=sa.text("due IS NOT NULL"),
    )
    op.create_table(
        "idempotency_key",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("key", sa.String(length=255), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("token", sa.String(length=32), nullable=False),
        sa.Column("lease_until", sa.DateTime(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_idempotency_key_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_idempotency_key_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("user_id", "workspace_id", "key", name=op.f("pk_idempotency_key")),
    )
    op.create_index(op.f("ix_idempotency_key_datetime"), "idempotency_key", ["datetime"], unique=False)
    op.create_index(
        op.f("ix_idempotency_key_workspace_id"), "idempotency_key", ["workspace_id"], unique=False
    )
    op.create_table(
        "invitation",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("is_admin", sa.Boolean(), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        sa.Column("used_datetime", sa.DateTime(), nullable=True),
        sa.Column("account_id", ID, nullable=True),
        sa.Column("revoked_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["account_id"], ["user.id"], name=op.f("fk_invitation_account_id_user"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_invitation_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_invitation")),
        sa.UniqueConstraint("digest", name=op.f("uq_invitation_digest")),
    )
    op.create_index(op.f("ix_invitation_user_id"), "invitation", ["user_id"], unique=False)
    op.create_table(
        "letter",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("about", sa.String(length=64), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("content", sa.Text(), nullable=True),
        sa.Column("until", sa.DateTime(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_letter_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_letter")),
    )
    op.create_index(op.f("ix_letter_about"), "letter", ["about"], unique=False)
    op.create_index(op.f("ix_letter_user_id"), "letter", ["user_id"], unique=False)
    op.create_table(
        "link_change",
        sa.Column("id", ID, nullable=False),
        sa.Column("link_id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("way", sa.String(length=16), nullable=False),
        sa.Column("who", sa.String(length=128), nullable=False),
        sa.Column("person", sa.String(length=320), server_default="", nullable=False),
        sa.Column("batch", sa.String(length=32), nullable=True),
        sa.Column("fields", sa.Text(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_link_change_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_link_change_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_link_change")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_link_change_batch",
        "link_change",
        ["batch", "link_id"],
        unique=False,
        sqlite_where=sa.text("batch IS NOT NULL"),
        postgresql_where=sa.text("batch IS NOT NULL"),
    )
    op.create_index(op.f("ix_link_change_link_id_id"), "link_change", ["link_id", "id"], unique=False)
    op.create_index(op.f("ix_link_change_workspace_id"), "link_change", ["workspace_id"], unique=False)
    op.create_table(
        "link_import",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("file", sa.String(length=64), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("columns", sa.JSON(), nullable=False),
        sa.Column("left_out", sa.JSON(), server_default="[]", nullable=False),
        sa.Column("date_order", sa.String(length=8), server_default="", nullable=False),
        sa.Column("project", sa.String(length=128), nullable=False),
        sa.Column("domain_id", ID, nullable=True),
        sa.Column("is_update", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("clears_empty", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.Column("host", sa.String(length=261), nullable=False),
        sa.Column("rows", ID, nullable=True),
        sa.Column("position", ID, nullable=False),
        sa.Column("made", ID, nullable=False),
        sa.Column("changed", ID, server_default="0", nullable=False),
        sa.Column("known", ID, nullable=False),
        sa.Column("failed", ID, nullable=False),
        sa.Column("problem", sa.Text(), nullable=False),
        sa.Column("tries", sa.Integer(), server_default="0", nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("who", sa.String(length=32), nullable=True),
        sa.Column("lease", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_link_import_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_link_import_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_link_import")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_link_import_state"), "link_import", ["state"], unique=False)
    op.create_index(
        op.f("ix_link_import_workspace_id_id"), "link_import", ["workspace_id", "id"], unique=False
    )
    op.create_table(
        "notification_handler",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("events", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("scope", sa.String(length=16), server_default="attached", nullable=False),
        sa.Column("click_filter", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("link_id", ID, nullable=True),
        sa.Column("api_key_id", ID, nullable=True),
        sa.Column("is_confirmed", sa.Boolean(), server_default=sa.text("true"), nullable=False),
        sa.Column("confirmation_due", sa.DateTime(), nullable=True),
        sa.Column("confirmation_datetime", sa.DateTime(), nullable=True),
        sa.Column("failing_since", sa.DateTime(), nullable=True),
        sa.Column("off_reason", sa.String(length=512), nullable=True),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_notification_handler_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_notification_handler_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_notification_handler")),
        sqlite_autoincrement=True,
    )
    op.create_index(
        "ix_notification_handler_confirmation_due",
        "notification_handler",
        ["confirmation_due"],
        unique=False,
        sqlite_where=sa.text("confirmation_due IS NOT NULL"),
        postgresql_where=sa.text("confirmation_due IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_notification_handler_workspace_id"), "notification_handler", ["workspace_id"], unique=False
    )
    op.create_table(
        "oidc_identity",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("issuer", sa.String(length=512), nullable=False),
        sa.Column("subject", sa.String(length=255), nullable=True),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("roles", sa.JSON(), nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_oidc_identity_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_oidc_identity")),
        sa.UniqueConstraint("issuer", "subject", name=op.f("uq_oidc_identity_issuer_subject")),
        sa.UniqueConstraint("user_id", "issuer", name=op.f("uq_oidc_identity_user_id_issuer")),
    )
    op.create_index(op.f("ix_oidc_identity_user_id"), "oidc_identity", ["user_id"], unique=False)
    op.create_table(
        "passkey",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("credential_id", sa.String(length=1364), nullable=False),
        sa.Column("public_key", sa.String(length=1400), nullable=False),
        sa.Column("user_handle", sa.String(length=86), nullable=False),
        sa.Column("rp_id", sa.String(length=253), nullable=False),
        sa.Column("sign_count", ID, nullable=False),
        sa.Column("last_challenge", ID, nullable=False),
        sa.Column("transports", sa.JSON(), nullable=False),
        sa.Column("aaguid", sa.String(length=36), nullable=False),
        sa.Column("is_backup_eligible", sa.Boolean(), nullable=False),
        sa.Column("is_backed_up", sa.Boolean(), nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_passkey_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_passkey")),
        sa.UniqueConstraint("credential_id", name=op.f("uq_passkey_credential_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_passkey_user_id"), "passkey", ["user_id"], unique=False)
    op.create_table(
        "password_reset",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_password_reset_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_password_reset")),
        sa.UniqueConstraint("digest", name=op.f("uq_password_reset_digest")),
    )
    op.create_index(
        op.f("ix_password_reset_expires_datetime"), "password_reset", ["expires_datetime"], unique=False
    )
    op.create_table(
        "pixel",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("type", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("pixel", sa.String(length=128), nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_pixel_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_pixel_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_pixel")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_pixel_workspace_id"), "pixel", ["workspace_id"], unique=False)
    op.create_table(
        "project",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("color", sa.String(length=7), nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_project_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_project_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_project")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_project_workspace_id"), "project", ["workspace_id"], unique=False)
    op.create_table(
        "recovery_code",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=255), nullable=False),
        sa.Column("used_datetime", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_recovery_code_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_recovery_code")),
        sa.UniqueConstraint("digest", name=op.f("uq_recovery_code_digest")),
    )
    op.create_index(op.f("ix_recovery_code_user_id"), "recovery_code", ["user_id"], unique=False)
    op.create_table(
        "report",
        sa.Column("user_id", ID, nullable=False),
        sa.Column("period", sa.String(length=16), nullable=False),
        sa.Column("start_date", sa.Date(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_report_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", "period", "start_date", name=op.f("pk_report")),
    )
    op.create_table(
        "saved_view",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("name", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=256), nullable=False),
        sa.Column("query", sa.Text(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_saved_view_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_saved_view_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_saved_view")),
        sa.UniqueConstraint(
            "workspace_id", "user_id", "key", name=op.f("uq_saved_view_workspace_id_user_id_key")
        ),
        sqlite_autoincrement=True,
    )
    op.create_table(
        "second_factor",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("settings", sa.Text(), nullable=False),
        sa.Column("last_step", ID, nullable=False),
        sa.Column("confirmed_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_second_factor_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_second_factor")),
    )
    op.create_table(
        "sign_in_link",
        sa.Column("user_id", ID, autoincrement=False, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_sign_in_link_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("user_id", name=op.f("pk_sign_in_link")),
        sa.UniqueConstraint("digest", name=op.f("uq_sign_in_link_digest")),
    )
    op.create_index(
        op.f("ix_sign_in_link_expires_datetime"), "sign_in_link", ["expires_datetime"], unique=False
    )
    op.create_table(
        "stored_file",
        sa.Column("path", sa.String(length=120), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("row_id", sa.BigInteger(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["digest"], ["stored_content.digest"], name=op.f("fk_stored_file_digest_stored_content")
        ),
        sa.PrimaryKeyConstraint("path", name=op.f("pk_stored_file")),
    )
    op.create_index(op.f("ix_stored_file_digest"), "stored_file", ["digest"], unique=False)
    op.create_index(op.f("ix_stored_file_row_id"), "stored_file", ["row_id"], unique=False)
    op.create_table(
        "trashed",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("row_id", ID, nullable=False),
        sa.Column("batch", sa.String(length=32), nullable=False),
        sa.Column("name", sa.String(length=1024), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("rows", sa.Text(), nullable=False),
        sa.Column("deleted_datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_trashed_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_trashed_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_trashed")),
        sa.UniqueConstraint("kind", "row_id", name=op.f("uq_trashed_kind_row_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_trashed_batch"), "trashed", ["batch"], unique=False)
    op.create_index(op.f("ix_trashed_deleted_datetime"), "trashed", ["deleted_datetime"], unique=False)
    op.create_index(op.f("ix_trashed_workspace_id_id"), "trashed", ["workspace_id", "id"], unique=False)
    op.create_table(
        "user_session",
        sa.Column("id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("browser", sa.String(length=64), nullable=False),
        sa.Column("system", sa.String(length=64), nullable=False),
        sa.Column("is_remembered", sa.Boolean(), nullable=False),
        sa.Column("password_datetime", sa.DateTime(), nullable=True),
        sa.Column("last_datetime", sa.DateTime(), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_user_session_user_id_user"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_user_session")),
        sa.UniqueConstraint("digest", name=op.f("uq_user_session_digest")),
    )
    op.create_index(
        op.f("ix_user_session_expires_datetime"), "user_session", ["expires_datetime"], unique=False
    )
    op.create_index(op.f("ix_user_session_user_id"), "user_session", ["user_id"], unique=False)
    op.create_table(
        "workspace_invitation",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("email", sa.String(length=320), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_workspace_invitation_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_workspace_invitation_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspace_invitation")),
        sa.UniqueConstraint("digest", name=op.f("uq_workspace_invitation_digest")),
    )
    op.create_index(
        op.f("ix_workspace_invitation_workspace_id"), "workspace_invitation", ["workspace_id"], unique=False
    )
    op.create_table(
        "workspace_member",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_workspace_member_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_workspace_member_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_workspace_member")),
        sa.UniqueConstraint("workspace_id", "user_id", name=op.f("uq_workspace_member_workspace_id_user_id")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_workspace_member_user_id"), "workspace_member", ["user_id"], unique=False)
    op.create_table(
        "click_number",
        sa.Column("handler_id", ID, autoincrement=False, nullable=False),
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("number", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["handler_id"],
            ["notification_handler.id"],
            name=op.f("fk_click_number_handler_id_notification_handler"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("handler_id", "link_id", name=op.f("pk_click_number")),
        info={"is_trashed": False},
    )
    op.create_table(
        "delivery",
        sa.Column("id", ID, nullable=False),
        sa.Column("handler_id", ID, nullable=True),
        sa.Column("letter_id", ID, nullable=True),
        sa.Column("type", sa.String(length=48), nullable=False),
        sa.Column("webhook_id", sa.String(length=64), nullable=False),
        sa.Column("data", sa.JSON(), nullable=False),
        sa.Column("status", sa.String(length=16), nullable=False),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.Column("due", sa.DateTime(), nullable=True),
        sa.Column("planned", sa.DateTime(), nullable=False),
        sa.Column("lease", sa.DateTime(), nullable=True),
        sa.Column("who", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(
            ["handler_id"],
            ["notification_handler.id"],
            name=op.f("fk_delivery_handler_id_notification_handler"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["letter_id"], ["letter.id"], name=op.f("fk_delivery_letter_id_letter"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery")),
        sa.UniqueConstraint("webhook_id", name=op.f("uq_delivery_webhook_id")),
        info={"is_trashed": False},
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_delivery_datetime"), "delivery", ["datetime"], unique=False)
    op.create_index(op.f("ix_delivery_handler_id_id"), "delivery", ["handler_id", "id"], unique=False)
    op.create_index(op.f("ix_delivery_letter_id"), "delivery", ["letter_id"], unique=False)
    op.create_index(
        "ix_delivery_waiting",
        "delivery",
        ["due"],
        unique=False,
        sqlite_where=sa.text("due IS NOT NULL"),
        postgresql_where=sa.text("due IS NOT NULL"),
    )
    op.create_table(
        "event_cursor",
        sa.Column("id", ID, autoincrement=False, nullable=False),
        sa.Column("cursor", sa.String(length=64), nullable=False),
        sa.Column("summary", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("skipped", sa.JSON(none_as_null=True), nullable=True),
        sa.Column("due", sa.DateTime(), nullable=True),
        sa.Column("planned", sa.DateTime(), nullable=False),
        sa.Column("lease", sa.DateTime(), nullable=True),
        sa.Column("who", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(
            ["id"],
            ["notification_handler.id"],
            name=op.f("fk_event_cursor_id_notification_handler"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_event_cursor")),
        info={"is_trashed": False},
    )
    op.create_index(
        "ix_event_cursor_waiting",
        "event_cursor",
        ["due"],
        unique=False,
        sqlite_where=sa.text("due IS NOT NULL"),
        postgresql_where=sa.text("due IS NOT NULL"),
    )
    op.create_table(
        "failed_row",
        sa.Column("import_id", ID, autoincrement=False, nullable=False),
        sa.Column("number", ID, autoincrement=False, nullable=False),
        sa.Column("line", ID, nullable=False),
        sa.Column("cells", sa.JSON(), nullable=False),
        sa.Column("problems", sa.JSON(), nullable=False),
        sa.Column("is_made", sa.Boolean(), server_default=sa.text("false"), nullable=False),
        sa.ForeignKeyConstraint(
            ["import_id"],
            ["link_import.id"],
            name=op.f("fk_failed_row_import_id_link_import"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("import_id", "number", name=op.f("pk_failed_row")),
    )
    op.create_table(
        "link",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("project_id", ID, nullable=True),
        sa.Column("domain_id", ID, nullable=True),
        sa.Column("type", sa.String(length=16), nullable=False),
        sa.Column("url", sa.String(length=1024), nullable=False),
        sa.Column("location_url", sa.Text(), nullable=False),
        sa.Column("is_enabled", sa.Boolean(), nullable=False),
        sa.Column("title", sa.String(length=160), nullable=True),
        sa.Column("search_text", sa.Text(), server_default="", nullable=False),
        sa.Column("notes", sa.Text(), nullable=True),
        sa.Column("search_notes", sa.Text(), nullable=True),
        sa.Column("schedule", sa.Boolean(), nullable=False),
        sa.Column("start_date", sa.DateTime(), nullable=True),
        sa.Column("end_date", sa.DateTime(), nullable=True),
        sa.Column("start_due", sa.DateTime(), nullable=True),
        sa.Column("end_due", sa.DateTime(), nullable=True),
        sa.Column("clicks_limit", sa.Integer(), nullable=True),
        sa.Column(
            "clicks_limit_confirmation_is_enabled",
            sa.Boolean(),
            server_default=sa.text("false"),
            nullable=False,
        ),
        sa.Column("expiration_url", sa.Text(), nullable=True),
        sa.Column("password_hash", sa.String(length=255), nullable=True),
        sa.Column("password_version", sa.Integer(), nullable=False),
        sa.Column("sensitive_content", sa.Boolean(), nullable=False),
        sa.Column("http_status_code", sa.Integer(), nullable=False),
        sa.Column("app_linking_is_enabled", sa.Boolean(), nullable=False),
        sa.Column("cloaking_is_enabled", sa.Boolean(), nullable=False),
        sa.Column("cloaking_title", sa.String(length=160), nullable=True),
        sa.Column("cloaking_meta_description", sa.String(length=320), nullable=True),
        sa.Column("cloaking_custom_js", sa.Text(), nullable=True),
        sa.Column("cloaking_favicon", sa.String(length=64), nullable=True),
        sa.Column("cloaking_opengraph", sa.String(length=64), nullable=True),
        sa.Column("forward_query_parameters_is_enabled", sa.Boolean(), nullable=False),
        sa.Column("utm_source", sa.String(length=256), nullable=True),
        sa.Column("utm_medium", sa.String(length=256), nullable=True),
        sa.Column("utm_campaign", sa.String(length=256), nullable=True),
        sa.Column("targeting_type", sa.String(length=32), nullable=True),
        sa.Column("targeting", sa.JSON(), nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(["domain_id"], ["domain.id"], name=op.f("fk_link_domain_id_domain")),
        sa.ForeignKeyConstraint(
            ["project_id"], ["project.id"], name=op.f("fk_link_project_id_project"), ondelete="SET NULL"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_link_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_link_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_link")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_link_domain_id"), "link", ["domain_id"], unique=False)
    op.create_index(
        "ix_link_end_due",
        "link",
        ["end_due"],
        unique=False,
        sqlite_where=sa.text("end_due IS NOT NULL"),
        postgresql_where=sa.text("end_due IS NOT NULL"),
    )
    op.create_index(
        "ix_link_filtered",
        "link",
        [
            "workspace_id",
            "id",
            "is_enabled",
            "project_id",
            "domain_id",
            "targeting_type",
            "schedule",
            "start_date",
            "end_date",
            "clicks_limit",
            "clicks_limit_confirmation_is_enabled",
            "sensitive_content",
            "app_linking_is_enabled",
            "cloaking_is_enabled",
            "datetime",
        ],
        unique=False,
    )
    op.create_index(op.f("ix_link_project_id"), "link", ["project_id"], unique=False)
    op.create_index(
        "ix_link_start_due",
        "link",
        ["start_due"],
        unique=False,
        sqlite_where=sa.text("start_due IS NOT NULL"),
        postgresql_where=sa.text("start_due IS NOT NULL"),
    )
    op.create_index(
        op.f("ix_link_workspace_id_datetime_id"), "link", ["workspace_id", "datetime", "id"], unique=False
    )
    op.create_index(
        op.f("ix_link_workspace_id_last_datetime_id"),
        "link",
        ["workspace_id", "last_datetime", "id"],
        unique=False,
        postgresql_ops={"last_datetime": "NULLS FIRST"},
    )
    op.create_index(op.f("ix_link_workspace_id_url_id"), "link", ["workspace_id", "url", "id"], unique=False)
    op.create_table(
        "oidc_session",
        sa.Column("session_id", ID, autoincrement=False, nullable=False),
        sa.Column("identity_id", ID, nullable=False),
        sa.Column("sid", sa.String(length=255), nullable=False),
        sa.ForeignKeyConstraint(
            ["identity_id"],
            ["oidc_identity.id"],
            name=op.f("fk_oidc_session_identity_id_oidc_identity"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["session_id"],
            ["user_session.id"],
            name=op.f("fk_oidc_session_session_id_user_session"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("session_id", name=op.f("pk_oidc_session")),
    )
    op.create_index(op.f("ix_oidc_session_identity_id"), "oidc_session", ["identity_id"], unique=False)
    op.create_table(
        "preview_row",
        sa.Column("import_id", ID, autoincrement=False, nullable=False),
        sa.Column("number", ID, autoincrement=False, nullable=False),
        sa.Column("line", ID, nullable=False),
        sa.Column("kind", sa.String(length=16), nullable=False),
        sa.Column("link_id", ID, nullable=True),
        sa.Column("alias_digest", sa.BigInteger(), nullable=True),
        sa.Column("alias", sa.String(length=300), nullable=False),
        sa.Column("differences", sa.JSON(), nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["import_id"],
            ["link_import.id"],
            name=op.f("fk_preview_row_import_id_link_import"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("import_id", "number", name=op.f("pk_preview_row")),
    )
    op.create_index(
        op.f("ix_preview_row_import_id_kind_number"),
        "preview_row",
        ["import_id", "kind", "number"],
        unique=False,
    )
    op.create_table(
        "alias",
        sa.Column("domain_id", ID, autoincrement=False, nullable=False),
        sa.Column("key", sa.String(length=1024), nullable=False),
        sa.Column("link_id", ID, nullable=True),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("held_until", sa.DateTime(), nullable=True),
        sa.ForeignKeyConstraint(
            ["link_id"], ["link.id"], name=op.f("fk_alias_link_id_link"), ondelete="SET NULL"
        ),
        sa.PrimaryKeyConstraint("domain_id", "key", name=op.f("pk_alias")),
        sa.UniqueConstraint("link_id", name=op.f("uq_alias_link_id")),
    )
    op.create_index(op.f("ix_alias_workspace_id"), "alias", ["workspace_id"], unique=False)
    op.create_table(
        "delivery_attempt",
        sa.Column("id", ID, nullable=False),
        sa.Column("delivery_id", ID, nullable=False),
        sa.Column("status_code", sa.Integer(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=False),
        sa.Column("duration_ms", sa.Integer(), nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["delivery_id"],
            ["delivery.id"],
            name=op.f("fk_delivery_attempt_delivery_id_delivery"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_delivery_attempt")),
    )
    op.create_index(
        op.f("ix_delivery_attempt_delivery_id"), "delivery_attempt", ["delivery_id"], unique=False
    )
    op.create_table(
        "destination_check",
        sa.Column("id", ID, nullable=False),
        sa.Column("link_id", ID, nullable=False),
        sa.Column("url", sa.Text(), nullable=False),
        sa.Column("failures", sa.Integer(), nullable=False),
        sa.Column("failing_since", sa.DateTime(), nullable=True),
        sa.Column("reason", sa.String(length=512), nullable=True),
        sa.Column("checked_datetime", sa.DateTime(), nullable=True),
        sa.Column("due", sa.DateTime(), nullable=True),
        sa.Column("planned", sa.DateTime(), nullable=False),
        sa.Column("lease", sa.DateTime(), nullable=True),
        sa.Column("who", sa.String(length=32), nullable=True),
        sa.ForeignKeyConstraint(
            ["link_id"], ["link.id"], name=op.f("fk_destination_check_link_id_link"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_destination_check")),
        sa.UniqueConstraint("link_id", name=op.f("uq_destination_check_link_id")),
    )
    op.create_table(
        "imported_row",
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("digest", sa.String(length=32), nullable=False),
        sa.ForeignKeyConstraint(
            ["link_id"], ["link.id"], name=op.f("fk_imported_row_link_id_link"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_imported_row_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_imported_row_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("link_id", name=op.f("pk_imported_row")),
    )
    op.create_index(
        op.f("ix_imported_row_workspace_id_digest"), "imported_row", ["workspace_id", "digest"], unique=True
    )
    op.create_table(
        "limit_counter",
        sa.Column("link_id", ID, autoincrement=False, nullable=False),
        sa.Column("clicks", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["link_id"], ["link.id"], name=op.f("fk_limit_counter_link_id_link"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("link_id", name=op.f("pk_limit_counter")),
    )
    op.create_table(
        "link_notification_handler",
        sa.Column("link_id", ID, nullable=False),
        sa.Column("notification_handler_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["link_id"],
            ["link.id"],
            name=op.f("fk_link_notification_handler_link_id_link"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["notification_handler_id"],
            ["notification_handler.id"],
            name=op.f("fk_link_notification_handler_notification_handler_id_no_bb11"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint(
            "link_id", "notification_handler_id", name=op.f("pk_link_notification_handler")
        ),
    )
    op.create_index(
        op.f("ix_link_notification_handler_notification_handler_id"),
        "link_notification_handler",
        ["notification_handler_id"],
        unique=False,
    )
    op.create_table(
        "link_pixel",
        sa.Column("link_id", ID, nullable=False),
        sa.Column("pixel_id", ID, nullable=False),
        sa.ForeignKeyConstraint(
            ["link_id"], ["link.id"], name=op.f("fk_link_pixel_link_id_link"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["pixel_id"], ["pixel.id"], name=op.f("fk_link_pixel_pixel_id_pixel"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("link_id", "pixel_id", name=op.f("pk_link_pixel")),
    )
    op.create_index(op.f("ix_link_pixel_pixel_id"), "link_pixel", ["pixel_id"], unique=False)
    op.create_table(
        "link_tag",
        sa.Column("link_id", ID, nullable=False),
        sa.Column("tag", sa.String(length=32), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.ForeignKeyConstraint(
            ["link_id"], ["link.id"], name=op.f("fk_link_tag_link_id_link"), ondelete="CASCADE"
        ),
        sa.PrimaryKeyConstraint("link_id", "tag", name=op.f("pk_link_tag")),
    )
    op.create_index(op.f("ix_link_tag_tag"), "link_tag", ["tag"], unique=False)
    op.create_table(
        "statistics_share",
        sa.Column("id", ID, nullable=False),
        sa.Column("workspace_id", ID, nullable=False),
        sa.Column("user_id", ID, nullable=False),
        sa.Column("link_id", ID, nullable=True),
        sa.Column("project_id", ID, nullable=True),
        sa.Column("name", sa.String(length=128), nullable=False),
        sa.Column("digest", sa.String(length=64), nullable=False),
        sa.Column("sealed_token", sa.Text(), nullable=False),
        sa.Column("parts", sa.JSON(), nullable=False),
        sa.Column("period", sa.String(length=16), nullable=False),
        sa.Column("start_date", sa.String(length=10), nullable=True),
        sa.Column("end_date", sa.String(length=10), nullable=True),
        sa.Column("least", sa.Integer(), nullable=False),
        sa.Column("password_hash", sa.String(length=255), nullable=True),
        sa.Column("is_embeddable", sa.Boolean(), nullable=False),
        sa.Column("embed_hosts", sa.JSON(), nullable=False),
        sa.Column("expires_datetime", sa.DateTime(), nullable=True),
        sa.Column("revoked_datetime", sa.DateTime(), nullable=True),
        sa.Column("uses", ID, nullable=False),
        sa.Column("last_datetime", sa.DateTime(), nullable=True),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.ForeignKeyConstraint(
            ["link_id"], ["link.id"], name=op.f("fk_statistics_share_link_id_link"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["project_id"],
            ["project.id"],
            name=op.f("fk_statistics_share_project_id_project"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(
            ["user_id"], ["user.id"], name=op.f("fk_statistics_share_user_id_user"), ondelete="CASCADE"
        ),
        sa.ForeignKeyConstraint(
            ["workspace_id"],
            ["workspace.id"],
            name=op.f("fk_statistics_share_workspace_id_workspace"),
            ondelete="CASCADE",
        ),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_statistics_share")),
        sa.UniqueConstraint("digest", name=op.f("uq_statistics_share_digest")),
        sqlite_autoincrement=True,
    )
    op.create_index(op.f("ix_statistics_share_link_id"), "statistics_share", ["link_id"], unique=False)
    op.create_index(op.f("ix_statistics_share_project_id"), "statistics_share", ["project_id"], unique=False)
    op.create_index(
        op.f("ix_statistics_share_workspace_id"), "statistics_share", ["workspace_id"], unique=False
    )
    if dialect == "postgresql":
        op.execute("CREATE TABLE clicks.click_default PARTITION OF clicks.click DEFAULT")
    for trigger in TRIGGERS[dialect]:
        op.execute(trigger)
    # rows that are changed in place
    op.execute("INSERT INTO clicks.event_counter VALUES (1, 0, 0, 0)")
    op.execute("INSERT INTO clicks.finished_segment VALUES ('recorded since', 0)")


def downgrade() -> None:
    raise NotImplementedError("Before these tables there is nothing.")
