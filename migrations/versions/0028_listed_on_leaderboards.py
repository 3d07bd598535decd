"""People who aren't listed on leaderboards. Everyone with a line is listed at first.

Revision ID: 0028
Revises: 0027
"""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0028"
down_revision = "0027"

_TABLES: dict[str, tuple[sa.types.TypeEngine[Any], Any]] = {
    "people": (sa.Boolean(), sa.true()),
    "standings": (sa.Boolean(), sa.true()),
    "standing_counts": (sa.Integer(), "0"),
}


def upgrade() -> None:
    """Upgrade to this version."""
    for name, (kind, usual) in _TABLES.items():
        with op.batch_alter_table(name) as table:
            table.add_column(sa.Column("listed", kind, nullable=False, server_default=usual))
        with op.batch_alter_table(name) as table:
            table.alter_column("listed", server_default=None)
    op.execute("UPDATE standing_counts SET listed = count")


def downgrade() -> None:
    """Go back to the version before. Everyone with a line is listed again."""
    for name in _TABLES:
        with op.batch_alter_table(name) as table:
            table.drop_column("listed")
