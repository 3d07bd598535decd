"""Elements a second, for exercises that rank by them. Earlier results have none.

Revision ID: 0023
Revises: 0022
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0023"
down_revision = "0022"


def upgrade() -> None:
    """Upgrade to this version."""
    op.add_column("results", sa.Column("melements", sa.Double(), nullable=True))


def downgrade() -> None:
    """Go back to the version before."""
    op.drop_column("results", "melements")
