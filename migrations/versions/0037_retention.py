"""How long courses keep details of submissions.

Revision ID: 0037
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0037"
down_revision = "0036"


def upgrade() -> None:
    """Add the columns."""
    with op.batch_alter_table("courses") as table:
        table.add_column(sa.Column("retention_days", sa.Integer(), nullable=True))
        table.add_column(sa.Column("retention_set_at", sa.DateTime(timezone=True), nullable=True))


def downgrade() -> None:
    """Remove them."""
    with op.batch_alter_table("courses") as table:
        table.drop_column("retention_set_at")
        table.drop_column("retention_days")
