"""mails from Waypost itself join the outbox of deliveries

Revision ID: 8e1d5a72c4f6
Revises: d4e81b6a3c07
"""

import sqlalchemy as sa
from alembic import op

revision = "8e1d5a72c4f6"
down_revision = "d4e81b6a3c07"
branch_labels = None
depends_on = None

ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
CLAIMED = ("due", "planned", "lease", "who", "tries")
WAITING = sa.text("due IS NOT NULL")

# the identifier is that of the mails before: one that was sent and not noted keeps its Message-ID
MOVE = """
    INSERT INTO delivery (letter_id, type, webhook_id, data, status, tries, due, planned, lease, who, datetime)
    SELECT id, 'letter', 'letter_' || id, {empty},
        CASE WHEN due IS NOT NULL THEN 'pending' WHEN sent_datetime IS NOT NULL THEN 'delivered' ELSE 'failed' END,
        tries, due, planned, lease, who, datetime
    FROM letter ORDER BY id
"""
LAST_ATTEMPTS = """
    INSERT INTO delivery_attempt (delivery_id, detail, answer, duration_ms, datetime)
    SELECT delivery.id, letter.detail, '', 0, coalesce(letter.sent_datetime, letter.planned)
    FROM letter JOIN delivery ON delivery.letter_id = letter.id WHERE letter.tries > 0
"""
BACK = f"""
    UPDATE letter SET {", ".join(f"{name} = (SELECT {name} FROM delivery WHERE letter_id = letter.id)" for name in CLAIMED)},
        detail = coalesce((SELECT detail FROM delivery_attempt WHERE id = (
            SELECT max(delivery_attempt.id) FROM delivery_attempt JOIN delivery ON delivery.id = delivery_id
            WHERE letter_id = letter.id)), ''),
        sent_datetime = (SELECT max(delivery_attempt.datetime) FROM delivery_attempt
            JOIN delivery ON delivery.id = delivery_id WHERE letter_id = letter.id AND status = 'delivered')
"""  # noqa: S608


def upgrade() -> None:
    newest = newest_id()
    with op.batch_alter_table("delivery", table_kwargs={"sqlite_autoincrement": True}) as batch:
        batch.add_column(sa.Column("letter_id", ID, nullable=True))
        batch.alter_column("handler_id", existing_type=ID, nullable=True)
        batch.create_foreign_key(
            op.f("fk_delivery_letter_id_letter"), "letter", ["letter_id"], ["id"], ondelete="CASCADE"
        )
    keep_newest_id(newest)
    index_waiting()
    op.create_index(op.f("ix_delivery_letter_id"), "delivery", ["letter_id"])
    op.execute(MOVE.format(empty="'{}'" if is_sqlite() else "'{}'::json"))
    op.execute(LAST_ATTEMPTS)
    with op.batch_alter_table("letter") as batch:
        batch.drop_index(op.f("ix_letter_due"))
        for name in (*CLAIMED, "detail", "sent_datetime"):
            batch.drop_column(name)


def downgrade() -> None:
    with op.batch_alter_table("letter") as batch:
        for name in ("due", "planned", "lease", "sent_datetime"):
            batch.add_column(sa.Column(name, sa.DateTime(), nullable=True))
        batch.add_column(sa.Column("who", sa.String(length=32), nullable=True))
        batch.add_column(sa.Column("tries", sa.Integer(), nullable=True))
        batch.add_column(sa.Column("detail", sa.Text(), nullable=True))
    op.execute(BACK)
    with op.batch_alter_table("letter") as batch:
        batch.alter_column("planned", existing_type=sa.DateTime(), nullable=False)
        batch.alter_column("tries", existing_type=sa.Integer(), nullable=False)
        batch.alter_column("detail", existing_type=sa.Text(), nullable=False)
        batch.create_index(op.f("ix_letter_due"), ["due"])
    mails = "SELECT id FROM delivery WHERE letter_id IS NOT NULL"
    op.execute(f"DELETE FROM delivery_attempt WHERE delivery_id IN ({mails})")  # noqa: S608
    op.execute("DELETE FROM delivery WHERE letter_id IS NOT NULL")
    op.drop_index(op.f("ix_delivery_letter_id"), "delivery")
    newest = newest_id()
    with op.batch_alter_table("delivery", table_kwargs={"sqlite_autoincrement": True}) as batch:
        batch.drop_constraint(op.f("fk_delivery_letter_id_letter"), type_="foreignkey")
        batch.drop_column("letter_id")
        batch.alter_column("handler_id", existing_type=ID, nullable=False)
    keep_newest_id(newest)
    index_waiting()


def is_sqlite() -> bool:
    return bool(op.get_bind().dialect.name == "sqlite")


def newest_id() -> int:
    """The highest id that a delivery on SQLite ever had: a table that is made anew forgets it."""
    if not is_sqlite():
        return 0
    return op.get_bind().scalar(sa.text("SELECT seq FROM sqlite_sequence WHERE name = 'delivery'")) or 0


def keep_newest_id(newest: int) -> None:
    if is_sqlite():
        op.execute("DELETE FROM sqlite_sequence WHERE name = 'delivery'")
        op.execute(
            sa.text("INSERT INTO sqlite_sequence (name, seq) VALUES ('delivery', :seq)").bindparams(seq=newest)
        )


def index_waiting() -> None:
    """On SQLite the table was made anew, and its partial index as one of all rows."""
    if is_sqlite():
        op.execute("DROP INDEX IF EXISTS ix_delivery_waiting")
        op.create_index("ix_delivery_waiting", "delivery", ["due"], sqlite_where=WAITING)
