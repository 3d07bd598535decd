"""The columns of an assignment's leaderboards, and their first order. Without any, leaderboards have the usual ones.

Revision ID: 0026
Revises: 0025
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0026"
down_revision = "0025"

_COLUMNS = ("board_columns", "board_sort")


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("assignments") as table:
        for name in _COLUMNS:
            table.add_column(sa.Column(name, sa.String(length=100), nullable=False, server_default=""))
    with op.batch_alter_table("assignments") as table:
        for name in _COLUMNS:
            table.alter_column(name, server_default=None)


def downgrade() -> None:
    """Go back to the version before. Leaderboards have the usual columns again."""
    with op.batch_alter_table("assignments") as table:
        for name in _COLUMNS:
            table.drop_column(name)
