"""From which share on submissions are similar.

Revision ID: 0041
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0041"
down_revision = "0040"


def upgrade() -> None:
    """Add the setting, with the share of all assignments until now."""
    with op.batch_alter_table("assignments") as table:
        table.add_column(sa.Column("similar_percent", sa.Integer(), nullable=False, server_default="50"))
        table.create_check_constraint("similar_percent_in_range", "similar_percent BETWEEN 0 AND 100")
    with op.batch_alter_table("assignments") as table:
        table.alter_column("similar_percent", server_default=None)


def downgrade() -> None:
    """Remove it."""
    with op.batch_alter_table("assignments") as table:
        table.drop_constraint("similar_percent_in_range", type_="check")
        table.drop_column("similar_percent")
