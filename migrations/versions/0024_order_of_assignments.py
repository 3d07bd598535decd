"""The order of a course's assignments. Until staff set one, assignments stay in the order of their deadlines.

Revision ID: 0024
Revises: 0023
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0024"
down_revision = "0023"


def upgrade() -> None:
    """Upgrade to this version."""
    with op.batch_alter_table("assignments") as table:
        table.add_column(sa.Column("position", sa.Integer(), nullable=True))


def downgrade() -> None:
    """Go back to the version before. Assignments are in the order of their deadlines again."""
    with op.batch_alter_table("assignments") as table:
        table.drop_column("position")
