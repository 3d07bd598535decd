"""Keys of workers, and the digest of each measure step's work.

Revision ID: 0030
Revises: 0029
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0030"
down_revision = "0029"

_ID = sa.BigInteger().with_variant(sa.Integer(), "sqlite")
_TIME = sa.DateTime(timezone=True)


def upgrade() -> None:
    """Upgrade to this version. Every worker needs a new address."""
    op.create_table(
        "worker_keys",
        sa.Column("id", _ID, nullable=False),
        sa.Column("name", sa.String(length=40), nullable=False),
        sa.Column("queues", sa.String(length=500), nullable=False),
        sa.Column("password_digest", sa.String(length=64), nullable=False),
        sa.Column("key", sa.String(length=64), nullable=False),
        sa.Column("added_at", _TIME, nullable=False),
        sa.Column("valid_until", _TIME, nullable=True),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_worker_keys")),
    )
    op.create_index(op.f("ix_worker_keys_name"), "worker_keys", ["name"])
    op.add_column("steps", sa.Column("work_digest", sa.String(length=64), nullable=True))


def downgrade() -> None:
    """Go back to the version before. Workers then need only the address of Redis."""
    op.drop_column("steps", "work_digest")
    op.drop_index(op.f("ix_worker_keys_name"), table_name="worker_keys")
    op.drop_table("worker_keys")
