"""Edits on request.

Revision ID: 0039
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0039"
down_revision = "0038"


def upgrade() -> None:
    """Add the setting, and when a student asked."""
    with op.batch_alter_table("assignments") as table:
        table.add_column(sa.Column("edit_on_request", sa.Boolean(), nullable=False, server_default=sa.false()))
    with op.batch_alter_table("assignments") as table:
        table.alter_column("edit_on_request", server_default=None)
    with op.batch_alter_table("submissions") as table:
        table.add_column(sa.Column("edit_shown_at", sa.DateTime(timezone=True)))


def downgrade() -> None:
    """Remove both."""
    with op.batch_alter_table("submissions") as table:
        table.drop_column("edit_shown_at")
    with op.batch_alter_table("assignments") as table:
        table.drop_column("edit_on_request")
