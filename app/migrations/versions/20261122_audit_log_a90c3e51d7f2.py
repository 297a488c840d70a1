"""the audit log, which nothing changes and only retention shortens

Revision ID: a90c3e51d7f2
Revises: 4f8b2d6a1c93
"""

import sqlalchemy as sa
from alembic import op

revision = "a90c3e51d7f2"
down_revision = "4f8b2d6a1c93"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
REFUSED = "the audit log is append-only"

SQLITE = (
    f"""CREATE TRIGGER audit_entry_no_update BEFORE UPDATE ON audit_entry
    BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END""",
    # moments are texts that sort, and the seconds of `datetime()` sort before those with a fraction
    f"""CREATE TRIGGER audit_entry_no_delete BEFORE DELETE ON audit_entry
    WHEN OLD.datetime >= datetime('now', '-' || coalesce((SELECT days FROM audit_retention), 365) || ' days')
    BEGIN SELECT RAISE(ABORT, '{REFUSED}'); END""",
)
POSTGRESQL = (
    f"""CREATE FUNCTION refuse_audit_change() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        IF TG_OP = 'DELETE' THEN
            IF OLD.datetime < (now() AT TIME ZONE 'utc') - make_interval(
                days => coalesce((SELECT days FROM audit_retention), 365)
            ) THEN
                RETURN OLD;
            END IF;
        END IF;
        RAISE EXCEPTION '{REFUSED}';
    END $$""",
    """CREATE TRIGGER audit_entry_no_change BEFORE UPDATE OR DELETE ON audit_entry
    FOR EACH ROW EXECUTE FUNCTION refuse_audit_change()""",
    """CREATE TRIGGER audit_entry_no_truncate BEFORE TRUNCATE ON audit_entry
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change()""",
)


def upgrade() -> None:
    text = sa.String
    op.create_table(
        "audit_entry",
        sa.Column("id", ID, nullable=False),
        sa.Column("datetime", sa.DateTime(), nullable=False),
        sa.Column("action", text(length=48), nullable=False),
        sa.Column("count", sa.Integer(), nullable=False),
        sa.Column("account_id", ID, nullable=True),
        sa.Column("account_email", text(length=320), nullable=False),
        sa.Column("actor_id", ID, nullable=True),
        sa.Column("actor_email", text(length=320), nullable=False),
        sa.Column("actor_way", text(length=16), nullable=False),
        sa.Column("actor_name", text(length=320), nullable=False),
        sa.Column("key_prefix", text(length=11), nullable=False),
        sa.Column("object_type", text(length=48), nullable=False),
        sa.Column("object_id", ID, nullable=True),
        sa.Column("object_name", text(length=256), nullable=False),
        sa.Column("changes", sa.JSON(), nullable=False),
        sa.Column("network", text(length=43), nullable=False),
        sa.Column("request_id", text(length=64), nullable=False),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_entry")),
        sqlite_autoincrement=True,
    )
    for columns in (["account_id", "id"], ["actor_id", "id"], ["datetime"]):
        op.create_index(op.f(f"ix_audit_entry_{'_'.join(columns)}"), "audit_entry", columns)
    op.create_table(
        "audit_retention",
        sa.Column("id", sa.Integer(), autoincrement=False, nullable=False),
        sa.Column("days", sa.Integer(), nullable=False),
        sa.CheckConstraint("id = 1", name=op.f("ck_audit_retention_one_row")),
        sa.CheckConstraint("days >= 30", name=op.f("ck_audit_retention_at_least")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_audit_retention")),
    )
    for statement in SQLITE if op.get_bind().dialect.name == "sqlite" else POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    op.drop_table("audit_entry")
    op.drop_table("audit_retention")
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION refuse_audit_change()")
