"""E-mails to students, and which kinds a person doesn't want.

Revision ID: 0027
Revises: 0026
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0027"
down_revision = "0026"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)
_WAITS = sa.text("next_at IS NOT NULL")


def upgrade() -> None:
    """Upgrade to this version."""
    op.create_table(
        "mails",
        sa.Column("id", _ID, nullable=False),
        sa.Column("person_id", _ID, nullable=False),
        sa.Column("kind", sa.String(length=32), nullable=False),
        sa.Column("reference", sa.String(length=100), nullable=False),
        sa.Column("subject", sa.String(length=300), nullable=False),
        sa.Column("path", sa.String(length=300), nullable=False),
        sa.Column("made_at", _TIME, nullable=False),
        sa.Column("next_at", _TIME, nullable=True),
        sa.Column("tries", sa.Integer(), nullable=False),
        sa.Column("sent_at", _TIME, nullable=True),
        sa.ForeignKeyConstraint(["person_id"], ["people.id"], name=op.f("fk_mails_person_id_people")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_mails")),
        sa.UniqueConstraint("person_id", "reference", name=op.f("uq_mails_person_id_reference")),
    )
    op.create_index(op.f("ix_mails_made_at"), "mails", ["made_at"])
    op.create_index("ix_mails_waiting", "mails", ["next_at"], postgresql_where=_WAITS, sqlite_where=_WAITS)
    with op.batch_alter_table("people") as table:
        table.add_column(sa.Column("mails_off", sa.String(length=100), nullable=False, server_default=""))
    with op.batch_alter_table("people") as table:
        table.alter_column("mails_off", server_default=None)


def downgrade() -> None:
    """Go back to the version before. Everyone gets every kind of e-mail again."""
    with op.batch_alter_table("people") as table:
        table.drop_column("mails_off")
    op.drop_table("mails")
