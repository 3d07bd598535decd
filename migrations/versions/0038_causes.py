"""The cause of each failed result.

Revision ID: 0038
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0038"
down_revision = "0037"


def upgrade() -> None:
    """Add the column, empty for earlier results."""
    with op.batch_alter_table("results") as table:
        table.add_column(sa.Column("cause", sa.String(32), nullable=False, server_default=""))
    with op.batch_alter_table("results") as table:
        table.alter_column("cause", server_default=None)


def downgrade() -> None:
    """Remove it."""
    with op.batch_alter_table("results") as table:
        table.drop_column("cause")
